# SPDX-License-Identifier: Apache-2.0
# `tracesmith studio`: its server, built where libmicrohttpd is, and its page, checked by TypeScript and bundled by esbuild.
# Everything else needs none of them.
include(reader)
find_path(TRACESMITH_MICROHTTPD_INCLUDE microhttpd.h)
# For a wheel: libmicrohttpd becomes a part of the program, without GnuTLS (6 MB with all that it needs), which the server does not use.
option(TRACESMITH_STATIC_MICROHTTPD "link tracesmith studio with libmicrohttpd.a, where it is, and without TLS" OFF)
find_library(TRACESMITH_MICROHTTPD_LIBRARY microhttpd)
if(TRACESMITH_STATIC_MICROHTTPD)
    find_library(TRACESMITH_MICROHTTPD_ARCHIVE libmicrohttpd.a)
    if(TRACESMITH_MICROHTTPD_ARCHIVE)
        set(TRACESMITH_MICROHTTPD_LIBRARY ${TRACESMITH_MICROHTTPD_ARCHIVE})
    endif()
endif()
find_program(TRACESMITH_TSC tsc)
# An older TypeScript does not know the browsers' functions that the page calls. Asked until it is new enough, because it takes a while.
if(TRACESMITH_TSC AND NOT TRACESMITH_TSC_NEW)
    execute_process(COMMAND ${TRACESMITH_TSC} --version OUTPUT_VARIABLE tsc_version ERROR_QUIET)
    if(tsc_version MATCHES "Version ([0-9.]+)" AND NOT CMAKE_MATCH_1 VERSION_LESS 4.8)
        set(TRACESMITH_TSC_NEW ON CACHE INTERNAL "TypeScript is 4.8 or newer")
    endif()
endif()
find_program(TRACESMITH_ESBUILD esbuild)
tracesmith_optional_part(TRACESMITH_ENABLE_STUDIO "the server and the page of tracesmith studio"
    "libmicrohttpd, TypeScript 4.8 or newer, and esbuild (Debian: libmicrohttpd-dev node-typescript esbuild)"
    TRACESMITH_MICROHTTPD_INCLUDE TRACESMITH_MICROHTTPD_LIBRARY TRACESMITH_TSC TRACESMITH_TSC_NEW TRACESMITH_ESBUILD)
if(TRACESMITH_ENABLE_STUDIO)
    set(folder ${PROJECT_BINARY_DIR}/studio)
    file(MAKE_DIRECTORY ${folder})
    file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/studio/src/*.ts)
    add_custom_command(OUTPUT ${folder}/studio.js
        COMMAND ${TRACESMITH_TSC} --noEmit -p ${PROJECT_SOURCE_DIR}/studio
        COMMAND ${TRACESMITH_ESBUILD} ${PROJECT_SOURCE_DIR}/studio/src/main.ts --bundle --minify --format=esm --target=es2020
            --log-level=warning --outfile=${folder}/studio.js
        DEPENDS ${page_sources} ${PROJECT_SOURCE_DIR}/studio/tsconfig.json VERBATIM)
    set(page ${PROJECT_SOURCE_DIR}/studio)
    set(parts "STUDIO_HTML=\"${page}/page.html\"" "STUDIO_CSS=\"${page}/style.css\"" "STUDIO_SCRIPT=\"${folder}/studio.js\""
        "STUDIO_ICON=\"${page}/icon.svg\"")
    set(part_files ${page}/page.html ${page}/style.css ${page}/icon.svg ${folder}/studio.js)
    if(TRACESMITH_ENABLE_WASM) # for --export
        add_custom_command(OUTPUT ${folder}/reader.js
            COMMAND ${TRACESMITH_ESBUILD} ${PROJECT_SOURCE_DIR}/studio/src/reader/worker.ts --bundle --minify --target=es2020
                --log-level=warning --outfile=${folder}/reader.js
            DEPENDS ${page_sources} VERBATIM)
        list(APPEND parts "STUDIO_STATIC=\"${page}/static.html\"" "STUDIO_READER=\"${folder}/reader.js\""
            "STUDIO_WASM=\"${TRACESMITH_WASM_READER}\"")
        list(APPEND part_files ${page}/static.html ${folder}/reader.js ${TRACESMITH_WASM_READER})
    endif()
    file(GLOB studio_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/studio/*.c)
    add_executable(tracesmith_studio ${studio_sources} ${PROJECT_SOURCE_DIR}/cli/present/text.c
        ${PROJECT_SOURCE_DIR}/cli/present/map.c ${PROJECT_SOURCE_DIR}/cli/present/sample_columns.c
        ${PROJECT_SOURCE_DIR}/cli/present/terminal.c ${PROJECT_SOURCE_DIR}/cli/present/top_json.c ${PROJECT_SOURCE_DIR}/cli/sessions.c)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/cli/studio/page.c PROPERTIES
        COMPILE_DEFINITIONS "${parts}" OBJECT_DEPENDS "${part_files}")
    set_target_properties(tracesmith_studio PROPERTIES
        OUTPUT_NAME tracesmith-studio
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/${helper_dir}
        INSTALL_RPATH "$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}")
    target_include_directories(tracesmith_studio PRIVATE ${PROJECT_SOURCE_DIR})
    target_include_directories(tracesmith_studio SYSTEM PRIVATE ${TRACESMITH_MICROHTTPD_INCLUDE})
    target_link_libraries(tracesmith_studio PRIVATE tracesmith_flags tracesmith ${TRACESMITH_MICROHTTPD_LIBRARY}
        Threads::Threads)
    if(TRACESMITH_MICROHTTPD_LIBRARY MATCHES "\\.a$")
        # Only functions of connections with TLS call these, besides gnutls_global_init, which has to give 0.
        execute_process(COMMAND ${CMAKE_NM} -u ${TRACESMITH_MICROHTTPD_LIBRARY} OUTPUT_VARIABLE undefined ERROR_QUIET
            COMMAND_ERROR_IS_FATAL ANY)
        string(REGEX MATCHALL "gnutls_[A-Za-z0-9_]+" undefined "${undefined}")
        list(REMOVE_DUPLICATES undefined)
        set(stubs "")
        foreach(name IN LISTS undefined)
            string(APPEND stubs "long ${name}(void);\nlong ${name}(void) {\n    return 0;\n}\n")
        endforeach()
        file(GENERATE OUTPUT ${folder}/no_tls.c CONTENT "${stubs}")
        target_sources(tracesmith_studio PRIVATE ${folder}/no_tls.c)
    endif()
    install(TARGETS tracesmith_studio RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tracesmith)
endif()
