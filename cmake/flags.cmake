# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags, as two interface targets:
#   tracesmith_warnings  the compiler's warnings for our code
#   tracesmith_flags     how all of our code is built (includes the warnings)
# No -march: one build runs on every machine of its architecture. A faster path for newer processors
# is chosen at run time (target attributes), never here.

include(CheckCCompilerFlag)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
# CMake's own default for Release is -O3 without symbols. A profiler should be profilable: -g1 names functions, lines and inlined calls,
# and compiles in 14% less time than -g, which describes variables and types as well. -O3 on everything gained 2% of SBT encoding and
# nothing elsewhere. Loops that need it enable it themselves (sbt/loops.c).
if(CMAKE_C_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
    set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
endif()

add_library(tracesmith_warnings INTERFACE)
target_compile_options(tracesmith_warnings INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla)
if(TRACESMITH_WERROR)
    target_compile_options(tracesmith_warnings INTERFACE -Werror)
endif()

add_library(tracesmith_flags INTERFACE)
target_link_libraries(tracesmith_flags INTERFACE tracesmith_warnings)
target_compile_definitions(tracesmith_flags INTERFACE _GNU_SOURCE)
target_compile_options(tracesmith_flags INTERFACE
    -ffunction-sections -fdata-sections)
target_link_options(tracesmith_flags INTERFACE
    -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

check_c_compiler_flag(-fstack-protector-strong TRACESMITH_HAVE_STACK_PROTECTOR)
if(TRACESMITH_HAVE_STACK_PROTECTOR)
    target_compile_options(tracesmith_flags INTERFACE -fstack-protector-strong)
endif()
check_c_compiler_flag(-fstack-clash-protection TRACESMITH_HAVE_STACK_CLASH)
if(TRACESMITH_HAVE_STACK_CLASH)
    target_compile_options(tracesmith_flags INTERFACE -fstack-clash-protection)
endif()

if(TRACESMITH_SANITIZE)
    target_compile_options(tracesmith_flags INTERFACE
        -fsanitize=${TRACESMITH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(tracesmith_flags INTERFACE -fsanitize=${TRACESMITH_SANITIZE})
    # Reports need lines only, which are 9% less to compile. Not lld: it links a test in 0.11 s in place of 0.27 s, but
    # unwind.unwind fails with it: it writes no unwind table for the PLT.
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        target_compile_options(tracesmith_flags INTERFACE -gline-tables-only)
    endif()
else()
    # Fortify needs optimization, and hides from the sanitizers what they are there to see.
    target_compile_options(tracesmith_flags INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
    # Sanitizer runtimes are resolved at load time, so only a plain build can insist on this.
    target_link_options(tracesmith_flags INTERFACE -Wl,-z,defs)
endif()

if(TRACESMITH_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "TRACESMITH_FUZZ needs clang: use the preset 'fuzz' or set CC=clang")
    endif()
    target_compile_options(tracesmith_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(tracesmith_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
