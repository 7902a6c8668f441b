# SPDX-License-Identifier: Apache-2.0
# The reader of traces as one WebAssembly file, for pages that no server stands behind (cli/studio/reader/reader.c): by a clang that has
# WebAssembly's linker and runtime, with wasi-libc. Everything else needs none of it.
# What reading needs of each room; files that write, and those that ask an operating system, are not for here.
file(GLOB reading_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} src/base/*.c src/event/*.c src/sbt/*.c src/tiles/*.c
    src/platform/*.c)
list(FILTER reading_sources EXCLUDE REGEX "^src/base/(clock|destination|file|other_root|processors|system)\\.c$")
list(FILTER reading_sources EXCLUDE REGEX "^src/sbt/(column_encode|file|lock|pack|pack_log|pack_search|recording|recover|column_search|writer)\\.c$")
list(APPEND reading_sources src/api/tiles_load.c cli/present/text.c cli/studio/overview.c cli/studio/tile.c)
# For tests/platform/test_elsewhere.sh, which builds them for other systems.
string(REPLACE ";" "\n" lines "${reading_sources}")
file(WRITE ${PROJECT_BINARY_DIR}/reader/sources "${lines}\n")

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/reader)
if(NOT TRACESMITH_WASM_CLANG)
    file(WRITE ${PROJECT_BINARY_DIR}/reader/probe.c
        "#include <stdio.h>\n__attribute__((export_name(\"probe\"))) int probe(char *out, size_t size, double x) { return snprintf(out, size, \"%f\", x); }\n")
    foreach(name clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19)
        find_program(TRACESMITH_WASM_CANDIDATE ${name})
        if(TRACESMITH_WASM_CANDIDATE)
            execute_process(COMMAND ${TRACESMITH_WASM_CANDIDATE} --target=wasm32-wasi -nostartfiles -Wl,--no-entry -o probe.wasm probe.c
                WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/reader RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
            if(failed STREQUAL "0")
                set(TRACESMITH_WASM_CLANG ${TRACESMITH_WASM_CANDIDATE} CACHE FILEPATH "clang that links for wasm32-wasi")
            endif()
        endif()
        unset(TRACESMITH_WASM_CANDIDATE CACHE)
        if(TRACESMITH_WASM_CLANG)
            break()
        endif()
    endforeach()
endif()
tracesmith_optional_part(TRACESMITH_ENABLE_WASM "the reader for browsers without a server"
    "clang with wasm-ld, its runtime for wasm32 and wasi-libc (Debian: clang lld libclang-rt-14-dev-wasm32 wasi-libc)"
    TRACESMITH_WASM_CLANG)
if(TRACESMITH_ENABLE_WASM)
    set(reader_sources ${reading_sources})
    file(GLOB platform_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} src/platform/wasm/*.c cli/studio/reader/*.c)
    list(APPEND reader_sources ${platform_sources})
    file(GLOB reader_headers CONFIGURE_DEPENDS include/tracesmith/*.h src/base/*.h src/event/*.h src/sbt/*.h src/tiles/*.h
        src/platform/*.h src/api/trace_tiles.h cli/studio/picture.h cli/present/text.h)
    set(reader_flags --target=wasm32-wasi -std=gnu11 -D_GNU_SOURCE -DNDEBUG -O2 -msimd128 -ffunction-sections -fdata-sections
        -fvisibility=hidden $<TARGET_PROPERTY:tracesmith_warnings,INTERFACE_COMPILE_OPTIONS>
        -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR})
    set(reader_objects)
    foreach(source ${reader_sources})
        string(REPLACE "/" "_" object ${source})
        set(object ${PROJECT_BINARY_DIR}/reader/${object}.o)
        add_custom_command(OUTPUT ${object}
            COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${TRACESMITH_WASM_CLANG} ${reader_flags} -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
            DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${reader_headers} COMMAND_EXPAND_LISTS VERBATIM)
        list(APPEND reader_objects ${object})
    endforeach()
    # --stack-first: a stack that overflows traps, and does not write into data.
    set(TRACESMITH_WASM_READER ${PROJECT_BINARY_DIR}/reader/reader.wasm)
    add_custom_command(OUTPUT ${TRACESMITH_WASM_READER}
        COMMAND ${TRACESMITH_WASM_CLANG} --target=wasm32-wasi -nostartfiles -Wl,--no-entry,--gc-sections,--strip-all
            -Wl,--fatal-warnings -Wl,-z,stack-size=1048576,--stack-first ${reader_objects} -lm -o ${TRACESMITH_WASM_READER}
        DEPENDS ${reader_objects} VERBATIM)
    add_custom_target(tracesmith_reader ALL DEPENDS ${TRACESMITH_WASM_READER})
endif()
