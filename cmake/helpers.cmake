# SPDX-License-Identifier: Apache-2.0

# A room may still be empty; a target may not. Replaces an empty list by one empty source.
macro(tracesmith_or_empty list_name)
    if(NOT ${list_name})
        file(WRITE ${PROJECT_BINARY_DIR}/empty.c "typedef int tracesmith_empty_translation_unit;\n")
        set(${list_name} ${PROJECT_BINARY_DIR}/empty.c)
    endif()
endmacro()

# tracesmith_find_library(<name> <pkg-config module> <header> <Debian package> [<other name of the library>...])
# defines tracesmith::<name>, by pkg-config where there is one, else by looking for header and library.
function(tracesmith_find_library name module header package)
    add_library(tracesmith_${name} INTERFACE)
    add_library(tracesmith::${name} ALIAS tracesmith_${name})
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(${name} IMPORTED_TARGET ${module})
        if(${name}_FOUND)
            target_link_libraries(tracesmith_${name} INTERFACE PkgConfig::${name})
            return()
        endif()
    endif()
    find_path(TRACESMITH_${name}_INCLUDE ${header})
    find_library(TRACESMITH_${name}_LIBRARY NAMES ${name} ${ARGN})
    if(NOT TRACESMITH_${name}_INCLUDE OR NOT TRACESMITH_${name}_LIBRARY)
        message(FATAL_ERROR "${header} or its library was not found (Debian: ${package}; ./dev build installs it)")
    endif()
    target_include_directories(tracesmith_${name} SYSTEM INTERFACE ${TRACESMITH_${name}_INCLUDE})
    target_link_libraries(tracesmith_${name} INTERFACE ${TRACESMITH_${name}_LIBRARY})
endfunction()

# tracesmith_optional_part(<option> <part> <what it needs> <variable>...)
# AUTO, the default, builds the part where every variable is true, and looks again at each configure: what was
# missing may have been installed since. ON and OFF are the user's and stay. Afterwards <option> is ON or OFF.
macro(tracesmith_optional_part option part needs)
    set(${option} AUTO CACHE STRING "Build ${part}: AUTO (where it can be built), ON or OFF")
    set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
    set(part_found ON)
    foreach(part_variable ${ARGN})
        if(NOT ${part_variable})
            set(part_found OFF)
        endif()
    endforeach()
    if("${${option}}" STREQUAL "AUTO")
        set(${option} ${part_found})
        if(NOT part_found)
            message(STATUS "Not built: ${part}. It needs ${needs}")
        endif()
    elseif(${option} AND NOT part_found)
        message(FATAL_ERROR "${option} is ON, but not everything that it needs was found: ${needs}. "
                            "Install it, or set the option to AUTO or OFF")
    elseif(NOT ${option} AND part_found)
        message(STATUS "Not built: ${part}. ${option} is OFF although everything it needs is installed; "
                       "-D${option}=AUTO builds it")
    endif()
endmacro()

# tracesmith_link_agent(<target> <meeting>): gives a library what agents are linked with. <meeting> is tracesmith_meeting, but
# for mocks of other builds.
function(tracesmith_link_agent target meeting)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${meeting}>)
    target_link_libraries(${target} PRIVATE tracesmith_agent_runtime)
    # -Bsymbolic: our own calls reach our own functions, not those of the program or another layer.
    # --exclude-libs: nothing of the runtime is exported.
    # nodelete: handlers at fork, at exit and at the end of threads are in it, and other agents may use its memory. It stays
    # when its loader closes it.
    target_link_options(${target} PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
endfunction()

# tracesmith_add_agent(<api>): agents/<api>/*.c become lib/tracesmith/libtracesmith-<api>.so, '_' as '-'.
function(tracesmith_add_agent api)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/agents/${api}/*.c)
    if(NOT sources)
        return()
    endif()
    tracesmith_add_agent_of(${api} ${sources})
    target_include_directories(tracesmith_${api} PRIVATE ${PROJECT_SOURCE_DIR}/agents/${api})
endfunction()

# tracesmith_add_agent_of(<api> <source>...): the library of an agent.
function(tracesmith_add_agent_of api)
    add_library(tracesmith_${api} MODULE ${ARGN})
    tracesmith_link_agent(tracesmith_${api} tracesmith_meeting)
    string(REPLACE "_" "-" file_name ${api})
    set_target_properties(tracesmith_${api} PROPERTIES
        PREFIX lib OUTPUT_NAME tracesmith-${file_name} LIBRARY_OUTPUT_DIRECTORY ${TRACESMITH_AGENT_DIR})
    set_property(GLOBAL APPEND PROPERTY tracesmith_agents tracesmith_${api})
    install(TARGETS tracesmith_${api} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tracesmith)
endfunction()

# tracesmith_add_activity_agent(<api> <vendor>): agents/cuda/*.c with the table of agents/cuda/vendors/<vendor>.c become
# lib/tracesmith/libtracesmith-<api>.so. The sources are compiled once, for all vendors.
function(tracesmith_add_activity_agent api vendor)
    if(NOT TARGET tracesmith_activity)
        file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/agents/cuda/*.c)
        add_library(tracesmith_activity OBJECT ${sources})
        target_include_directories(tracesmith_activity PUBLIC ${PROJECT_SOURCE_DIR}/agents/cuda)
        target_link_libraries(tracesmith_activity PUBLIC tracesmith_agent_runtime)
    endif()
    tracesmith_add_agent_of(${api} ${PROJECT_SOURCE_DIR}/agents/cuda/vendors/${vendor}.c $<TARGET_OBJECTS:tracesmith_activity>)
    target_include_directories(tracesmith_${api} PRIVATE ${PROJECT_SOURCE_DIR}/agents/cuda)
endfunction()

# tracesmith_preload_agent(<api>): the agent of an API without a way in, which is preloaded and waits for the API's runtime.
function(tracesmith_preload_agent api)
    target_sources(tracesmith_${api} PRIVATE ${PROJECT_SOURCE_DIR}/agents/preload/preload.c)
    target_include_directories(tracesmith_${api} PRIVATE ${PROJECT_SOURCE_DIR}/agents)
endfunction()

# tracesmith_find_opencl(): sets TRACESMITH_OPENCL_LIBRARY (the loader) for programs that are OpenCL
# programs themselves: examples and test programs. Nothing we install links it.
function(tracesmith_find_opencl)
    find_library(TRACESMITH_OPENCL_LIBRARY OpenCL DOC "The OpenCL loader, for the examples and test programs")
endfunction()

# tracesmith_add_opencl_program(<target> <source>...): an OpenCL program that knows nothing of us.
function(tracesmith_add_opencl_program target)
    add_executable(${target} ${ARGN})
    target_include_directories(${target} SYSTEM PRIVATE ${TRACESMITH_CL_HEADERS})
    target_compile_definitions(${target} PRIVATE CL_TARGET_OPENCL_VERSION=300)
    target_link_libraries(${target} PRIVATE
        tracesmith_flags ${TRACESMITH_OPENCL_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()

# tracesmith_add_examples(): examples/<name>/*.c become build/examples/<name>. A folder whose sources
# include <CL/...> is an OpenCL program; it is left out where there is no OpenCL. One that includes
# "tracesmith/..." or <tracesmith/...> links the library.
function(tracesmith_add_examples)
    tracesmith_find_opencl()
    file(GLOB folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*)
    foreach(folder IN LISTS folders)
        if(EXISTS ${folder}/CMakeLists.txt)
            add_subdirectory(${folder})
            continue()
        endif()
        file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
        if(NOT sources)
            continue()
        endif()
        get_filename_component(name ${folder} NAME)
        # What a source includes decides how it is linked, so an edit configures anew.
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
        set(uses_cl OFF)
        set(uses_us OFF)
        foreach(source IN LISTS sources)
            file(STRINGS ${source} cl_lines REGEX "#[ ]*include[ ]*<CL/")
            file(STRINGS ${source} our_lines REGEX "#[ ]*include[ ]*[<\"]tracesmith/")
            if(cl_lines)
                set(uses_cl ON)
            endif()
            if(our_lines)
                set(uses_us ON)
            endif()
        endforeach()
        if(uses_cl AND NOT (TRACESMITH_CL_HEADERS AND TRACESMITH_OPENCL_LIBRARY))
            message(STATUS "examples/${name} left out: no OpenCL loader or headers")
            continue()
        endif()
        set(target example_${name})
        if(uses_cl)
            tracesmith_add_opencl_program(${target} ${sources})
        else()
            add_executable(${target} ${sources})
            target_link_libraries(${target} PRIVATE tracesmith_flags Threads::Threads m)
        endif()
        if(uses_us)
            target_link_libraries(${target} PRIVATE tracesmith)
        endif()
        set_target_properties(${target} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    endforeach()
endfunction()
