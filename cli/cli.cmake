# SPDX-License-Identifier: Apache-2.0
# What belongs to the command besides its code: the launch loop of `tracesmith benchmark`, and the man
# pages and completions, which the command writes itself from its table.

# --- the launch loop: an ordinary OpenCL program, found relative to the command -----------------------
file(RELATIVE_PATH helper_dir
    "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CMAKE_INSTALL_LIBEXECDIR}/tracesmith")
target_compile_definitions(tracesmith_cli PRIVATE TRACESMITH_HELPER_DIR="${helper_dir}")
tracesmith_find_opencl()
if(TRACESMITH_CL_HEADERS)
    add_executable(tracesmith_launch_loop ${PROJECT_SOURCE_DIR}/cli/launch_loop/launch_loop.c)
    target_include_directories(tracesmith_launch_loop SYSTEM PRIVATE ${TRACESMITH_CL_HEADERS})
    target_compile_definitions(tracesmith_launch_loop PRIVATE CL_TARGET_OPENCL_VERSION=300)
    target_link_libraries(tracesmith_launch_loop PRIVATE tracesmith_flags ${CMAKE_DL_LIBS})
    # The build tree has the shape of an installation.
    set_target_properties(tracesmith_launch_loop PROPERTIES
        OUTPUT_NAME tracesmith-launch-loop
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/${helper_dir})
    install(TARGETS tracesmith_launch_loop RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tracesmith)
else()
    message(STATUS "the launch loop of `tracesmith benchmark` left out: no OpenCL headers")
endif()

# --- the server of `tracesmith studio`, and its page ---------------------------------------------------
include(studio)

# --- `analyze` on the ranks of an MPI job; needs no MPI to be built ---------------------------------------
file(GLOB mpi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/mpi/*.c)
add_executable(tracesmith_mpi_program ${mpi_sources} ${PROJECT_SOURCE_DIR}/cli/helper_program.c
    ${PROJECT_SOURCE_DIR}/cli/present/text.c ${PROJECT_SOURCE_DIR}/cli/present/terminal.c)
set_target_properties(tracesmith_mpi_program PROPERTIES
    OUTPUT_NAME tracesmith-mpi
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
target_include_directories(tracesmith_mpi_program PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(tracesmith_mpi_program PRIVATE tracesmith_flags tracesmith ${CMAKE_DL_LIBS})
install(TARGETS tracesmith_mpi_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# --- man pages and completions -------------------------------------------------------------------------
# Only a command that runs here can write them.
if(NOT CMAKE_CROSSCOMPILING)
    set(generated_dir ${PROJECT_BINARY_DIR}/cli)
    set(generated)

    # tracesmith_generate(<file> <argument of tracesmith help>...)
    function(tracesmith_generate file)
        set(path ${generated_dir}/${file})
        add_custom_command(OUTPUT ${path}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${generated_dir}
            COMMAND tracesmith_cli help ${ARGN} > ${path}
            DEPENDS tracesmith_cli VERBATIM)
        set(generated ${generated} ${path} PARENT_SCOPE)
    endfunction()

    set(man_pages ${generated_dir}/tracesmith.1)
    tracesmith_generate(tracesmith.1 --as man)
    # The table of commands is in options/command.h alone.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/options/command.h)
    file(READ ${PROJECT_SOURCE_DIR}/cli/options/command.h commands)
    string(REGEX MATCHALL "    X\\([a-z]+\\)" commands "${commands}")
    list(TRANSFORM commands REPLACE "^ *X\\(([a-z]+)\\)" "\\1")
    foreach(command ${commands})
        tracesmith_generate(tracesmith-${command}.1 --as man ${command})
        list(APPEND man_pages ${generated_dir}/tracesmith-${command}.1)
    endforeach()
    add_custom_command(OUTPUT ${generated_dir}/tracesmith-mpi.1
        COMMAND ${CMAKE_COMMAND} -E make_directory ${generated_dir}
        COMMAND tracesmith_mpi_program --help=man > ${generated_dir}/tracesmith-mpi.1
        DEPENDS tracesmith_mpi_program VERBATIM)
    list(APPEND generated ${generated_dir}/tracesmith-mpi.1)
    list(APPEND man_pages ${generated_dir}/tracesmith-mpi.1)
    tracesmith_generate(tracesmith.bash --as bash)
    tracesmith_generate(_tracesmith --as zsh)
    tracesmith_generate(tracesmith.fish --as fish)
    add_custom_target(tracesmith_generated ALL DEPENDS ${generated})

    install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${generated_dir}/tracesmith.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tracesmith)
    install(FILES ${generated_dir}/_tracesmith DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${generated_dir}/tracesmith.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
