# Helpers that give every target the same standard, warnings and include root.
include_guard(GLOBAL)

add_library(foretrain_options INTERFACE)
target_compile_features(foretrain_options INTERFACE cxx_std_20)
target_include_directories(foretrain_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/foretrain>)
# The same bits on every x86-64 machine: no contraction of multiply and add.
target_compile_options(foretrain_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion
  -Wshadow -Wold-style-cast -Wdouble-promotion>)
if(FORETRAIN_WERROR)
  target_compile_options(foretrain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(FORETRAIN_SANITIZE)
  string(REPLACE ";" "," sanitizers "${FORETRAIN_SANITIZE}")
  target_compile_options(foretrain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers}
    -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(foretrain_options INTERFACE -fsanitize=${sanitizers})
endif()

# foretrain_library(core SOURCES a.cc … LINKS foretrain::x … [PRIVATE_LINKS lib …])
function(foretrain_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(foretrain_${name} STATIC ${ARG_SOURCES})
  add_library(foretrain::${name} ALIAS foretrain_${name})
  set_target_properties(foretrain_${name} PROPERTIES CXX_EXTENSIONS OFF EXPORT_NAME ${name})
  target_link_libraries(foretrain_${name} PUBLIC foretrain_options ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  set_property(GLOBAL APPEND PROPERTY FORETRAIN_LIBRARIES foretrain_${name})
endfunction()

# foretrain_test(units LABELS unit SOURCES units_test.cc LINKS foretrain::core): one executable of GoogleTest.
function(foretrain_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  set_target_properties(${name}_test PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_definitions(${name}_test PRIVATE FORETRAIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name}_test PRIVATE foretrain_options ${ARG_LINKS} GTest::gtest_main GTest::gmock rapidcheck)
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
