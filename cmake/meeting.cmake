# SPDX-License-Identifier: Apache-2.0
# The meeting point of the libraries of a process (src/wire/meeting.h): an object file that every library gets which opens
# channels. It alone depends on the name of the build; mocks of other builds have another one.
# The name of a build is the version and a hash of the sources whose structs libraries share: code that differs does not meet.
set(TRACESMITH_MEETING_SOURCE ${PROJECT_SOURCE_DIR}/src/wire/meeting.c)

file(GLOB meeting_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/wire/*.[ch])
set(meeting_hash "")
foreach(source IN LISTS meeting_sources)
    file(SHA256 ${source} hash)
    string(APPEND meeting_hash ${hash})
endforeach()
string(SHA256 meeting_hash "${meeting_hash}")
string(SUBSTRING ${meeting_hash} 0 12 meeting_hash)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${meeting_sources})

# tracesmith_add_meeting(<target> <build>)
function(tracesmith_add_meeting target build)
    add_library(${target} OBJECT ${TRACESMITH_MEETING_SOURCE})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target} PRIVATE MEETING_BUILD="${build}")
    target_link_libraries(${target} PRIVATE tracesmith_flags)
endfunction()
tracesmith_add_meeting(tracesmith_meeting ${PROJECT_VERSION}-${meeting_hash})
