# Libraries, headers and a package file, so that find_package(foretrain) gives foretrain::core and the rest.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)
get_property(foretrain_libraries GLOBAL PROPERTY FORETRAIN_LIBRARIES)
set(foretrain_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/foretrain)

install(TARGETS foretrain_options ${foretrain_libraries} EXPORT foretrainTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT foretrainTargets NAMESPACE foretrain:: DESTINATION ${foretrain_cmake_folder})
foreach(library IN LISTS foretrain_libraries)
  get_target_property(folder ${library} SOURCE_DIR)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/foretrain/${folder}
    FILES_MATCHING PATTERN "*.h" PATTERN "internal" EXCLUDE)
endforeach()

configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/foretrainConfig.cmake.in
  ${PROJECT_BINARY_DIR}/foretrainConfig.cmake INSTALL_DESTINATION ${foretrain_cmake_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/foretrainConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/foretrainConfig.cmake ${PROJECT_BINARY_DIR}/foretrainConfigVersion.cmake
  DESTINATION ${foretrain_cmake_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/foretrain)
