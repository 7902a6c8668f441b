# SPDX-License-Identifier: Apache-2.0
# The plugin for Oclgrind, the one file of C++: built where Oclgrind's headers, those of the LLVM that it is linked with,
# and a C++ compiler are. Everything else needs none of them.
include(CheckLanguage)
find_path(TRACESMITH_OCLGRIND_INCLUDE oclgrind/Plugin.h)
find_library(TRACESMITH_OCLGRIND_LIBRARY oclgrind)
if(TRACESMITH_OCLGRIND_INCLUDE AND TRACESMITH_OCLGRIND_LIBRARY AND NOT TRACESMITH_OCLGRIND_LLVM_INCLUDE)
    file(STRINGS ${TRACESMITH_OCLGRIND_LIBRARY} needed REGEX "libLLVM-[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "libLLVM-([0-9]+)" needed "${needed}")
    find_path(TRACESMITH_OCLGRIND_LLVM_INCLUDE llvm/IR/Instructions.h
        PATHS /usr/lib/llvm-${CMAKE_MATCH_1}/include /usr/lib64/llvm${CMAKE_MATCH_1}/include
        NO_DEFAULT_PATH)
endif()
if(NOT CMAKE_CXX_COMPILER)
    unset(CMAKE_CXX_COMPILER CACHE) # check_language() looks once; a compiler may have been installed since
endif()
check_language(CXX)
tracesmith_optional_part(TRACESMITH_ENABLE_OCLGRIND "the plugin for Oclgrind (C++)"
    "Oclgrind's headers, those of its LLVM and of OpenCL, and a C++ compiler (Debian: liboclgrind-dev llvm-14-dev opencl-headers g++)"
    TRACESMITH_OCLGRIND_LIBRARY TRACESMITH_OCLGRIND_INCLUDE TRACESMITH_OCLGRIND_LLVM_INCLUDE TRACESMITH_CL_HEADERS
    CMAKE_CXX_COMPILER)
if(TRACESMITH_ENABLE_OCLGRIND)
    enable_language(CXX)
    add_library(tracesmith_oclgrind MODULE src/replay/oclgrind/plugin.cc)
    set_target_properties(tracesmith_oclgrind PROPERTIES
        PREFIX lib OUTPUT_NAME tracesmith-oclgrind LIBRARY_OUTPUT_DIRECTORY ${TRACESMITH_AGENT_DIR}
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_VISIBILITY_PRESET hidden)
    target_compile_options(tracesmith_oclgrind PRIVATE -fno-rtti -Wall -Wextra) # Oclgrind has no type information
    if(TRACESMITH_WERROR)
        target_compile_options(tracesmith_oclgrind PRIVATE -Werror)
    endif()
    target_include_directories(tracesmith_oclgrind PRIVATE src)
    target_include_directories(tracesmith_oclgrind SYSTEM PRIVATE
        ${TRACESMITH_OCLGRIND_LLVM_INCLUDE} ${TRACESMITH_CL_HEADERS})
    target_link_libraries(tracesmith_oclgrind PRIVATE ${TRACESMITH_OCLGRIND_LIBRARY})
    target_link_options(tracesmith_oclgrind PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/replay/oclgrind/plugin.map)
    install(TARGETS tracesmith_oclgrind LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tracesmith)
endif()
