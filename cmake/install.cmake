# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

install(TARGETS tracesmith EXPORT TraceSmithTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/tracesmith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY bindings/cpp/include/tracesmith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/TraceSmith)
install(EXPORT TraceSmithTargets NAMESPACE TraceSmith:: DESTINATION ${package_dir})
configure_package_config_file(cmake/TraceSmithConfig.cmake.in ${PROJECT_BINARY_DIR}/TraceSmithConfig.cmake
    INSTALL_DESTINATION ${package_dir})
# docs/stability.md: what was compiled with 1.x compiles with each later one; before, a minor version may change anything.
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible SameMinorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TraceSmithConfigVersion.cmake COMPATIBILITY ${compatible})
install(FILES ${PROJECT_BINARY_DIR}/TraceSmithConfig.cmake ${PROJECT_BINARY_DIR}/TraceSmithConfigVersion.cmake
    DESTINATION ${package_dir})

file(RELATIVE_PATH TRACESMITH_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" TRACESMITH_PREFIX_FROM_PC "${TRACESMITH_PREFIX_FROM_PC}")
configure_file(cmake/tracesmith.pc.in ${PROJECT_BINARY_DIR}/tracesmith.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tracesmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
