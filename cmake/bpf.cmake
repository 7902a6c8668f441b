# SPDX-License-Identifier: Apache-2.0
# What profile --sched and --probe put into the system's kernel: a library of its own, built where libbpf, libelf, clang and
# bpftool are. Everything else needs none of them.
find_program(TRACESMITH_BPF_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19)
find_program(TRACESMITH_BPFTOOL bpftool PATHS /usr/sbin /sbin)
find_path(TRACESMITH_BPF_INCLUDE bpf/libbpf.h)
find_library(TRACESMITH_BPF_LIBRARY bpf)
find_library(TRACESMITH_ELF_LIBRARY elf)
find_path(TRACESMITH_ELF_INCLUDE gelf.h)
set(TRACESMITH_BPF_HOST OFF) # a Linux that builds for itself
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CROSSCOMPILING)
    set(TRACESMITH_BPF_HOST ON)
endif()
tracesmith_optional_part(TRACESMITH_ENABLE_BPF "the programs for the kernel (profile --sched, --probe)"
    "libbpf, libelf, clang and bpftool (Debian: libbpf-dev libelf-dev clang bpftool)"
    TRACESMITH_BPF_HOST TRACESMITH_BPF_CLANG TRACESMITH_BPFTOOL TRACESMITH_BPF_INCLUDE TRACESMITH_BPF_LIBRARY
    TRACESMITH_ELF_LIBRARY TRACESMITH_ELF_INCLUDE)
if(TRACESMITH_ENABLE_BPF)
    set(folder ${PROJECT_BINARY_DIR}/bpf)
    file(MAKE_DIRECTORY ${folder})
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
        set(target_arch arm64)
    else()
        set(target_arch x86)
    endif()
    set(skeletons)
    foreach(name trace kernel_call)
        set(source ${PROJECT_SOURCE_DIR}/agents/bpf/${name}.bpf.c)
        # The header of the kernel's own types is in the directory of the multiarch triplet.
        add_custom_command(OUTPUT ${folder}/${name}.bpf.o
            COMMAND ${TRACESMITH_BPF_CLANG} -target bpf -O2 -g -Wall -Wextra -Wno-unused-parameter
                -D__TARGET_ARCH_${target_arch} -I${PROJECT_SOURCE_DIR}/src
                -isystem ${TRACESMITH_BPF_INCLUDE} -isystem /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
                -c ${source} -o ${folder}/${name}.bpf.o
            DEPENDS ${source} ${PROJECT_SOURCE_DIR}/agents/bpf/common.h ${PROJECT_SOURCE_DIR}/agents/bpf/driver.h
                ${PROJECT_SOURCE_DIR}/agents/bpf/kernel_types.h ${PROJECT_SOURCE_DIR}/src/wire/agent_bpf.h VERBATIM)
        add_custom_command(OUTPUT ${folder}/${name}.skel.h
            COMMAND ${TRACESMITH_BPFTOOL} gen skeleton ${folder}/${name}.bpf.o name ${name}_bpf > ${folder}/${name}.skel.h
            DEPENDS ${folder}/${name}.bpf.o)
        list(APPEND skeletons ${folder}/${name}.skel.h)
    endforeach()
    add_library(tracesmith_bpf MODULE
        ${PROJECT_SOURCE_DIR}/agents/bpf/bpf.c ${PROJECT_SOURCE_DIR}/agents/bpf/kernel_probe.c
        ${PROJECT_SOURCE_DIR}/agents/bpf/probe_site.c ${skeletons})
    target_include_directories(tracesmith_bpf PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/agents/bpf)
    target_include_directories(tracesmith_bpf SYSTEM PRIVATE ${folder})
    target_link_libraries(tracesmith_bpf PRIVATE
        tracesmith_flags ${TRACESMITH_BPF_LIBRARY} ${TRACESMITH_ELF_LIBRARY} ${CMAKE_DL_LIBS})
    target_link_options(tracesmith_bpf PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL)
    set_target_properties(tracesmith_bpf PROPERTIES
        PREFIX lib OUTPUT_NAME tracesmith-bpf LIBRARY_OUTPUT_DIRECTORY ${TRACESMITH_AGENT_DIR})
    install(TARGETS tracesmith_bpf LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tracesmith)
endif()
