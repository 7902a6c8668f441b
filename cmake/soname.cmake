# SPDX-License-Identifier: Apache-2.0
# The number in the file name of the library, of a version: docs/stability.md has the rule. CMakeLists.txt asks for that of this version;
#   cmake -DVERSION=1.0.0 -P cmake/soname.cmake
# prints the name of another one (tests/stability/test_soname.sh).
function(tracesmith_soversion version out)
    if(NOT version MATCHES "^([0-9]+)\\.[0-9]+(\\.[0-9]+)?$")
        message(FATAL_ERROR "'${version}' is no version")
    endif()
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    tracesmith_soversion("${VERSION}" number)
    message("libtracesmith.so.${number}")
endif()
