# Helpers that give every target the same standard, warnings and include root.
include_guard(GLOBAL)

add_library(foretrain_options INTERFACE)
set_target_properties(foretrain_options PROPERTIES EXPORT_NAME options)
target_compile_features(foretrain_options INTERFACE cxx_std_20)
target_include_directories(foretrain_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/foretrain>)

# Flags of this build only: users of an installed foretrain choose their own.
# -ffp-contract=off: the same bits on every x86-64 machine, no contraction of multiply and add.
set(foretrain_flags -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  -Wold-style-cast -Wdouble-promotion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns wrongly inside std::string at -O3; the sanitizers look for the real thing.
  list(APPEND foretrain_flags -Wno-maybe-uninitialized -Wno-restrict)
endif()
set(foretrain_link_flags "")
if(FORETRAIN_WERROR)
  list(APPEND foretrain_flags -Werror)
endif()
if(FORETRAIN_SANITIZE)
  string(REPLACE ";" "," sanitizers "${FORETRAIN_SANITIZE}")
  list(APPEND foretrain_flags -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  list(APPEND foretrain_link_flags -fsanitize=${sanitizers})
endif()
if(FORETRAIN_COVERAGE)
  list(APPEND foretrain_flags --coverage)
  list(APPEND foretrain_link_flags --coverage)
endif()
if(FORETRAIN_BUILD_FUZZERS)
  # The libraries need the coverage counters too; only the fuzz targets get libFuzzer's main().
  list(APPEND foretrain_flags -fsanitize=fuzzer-no-link)
endif()
target_compile_options(foretrain_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${foretrain_flags}>>")
target_link_options(foretrain_options INTERFACE "$<BUILD_INTERFACE:${foretrain_link_flags}>")

# Header-only libraries that only .cc files use: users of the installed libraries do not need them.
set(FORETRAIN_BUILD_ONLY_LIBRARIES Random123::Random123 Eigen3::Eigen nlohmann_json::nlohmann_json
  Boost::graph Boost::boost Boost::headers CLI11::CLI11)

# foretrain_library(core SOURCES a.cc … LINKS foretrain::x … [PRIVATE_LINKS lib …])
function(foretrain_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(foretrain_${name} STATIC ${ARG_SOURCES})
  add_library(foretrain::${name} ALIAS foretrain_${name})
  set_target_properties(foretrain_${name} PROPERTIES CXX_EXTENSIONS OFF EXPORT_NAME ${name})
  target_link_libraries(foretrain_${name} PUBLIC foretrain_options ${ARG_LINKS})
  foreach(library IN LISTS ARG_PRIVATE_LINKS)
    if(library IN_LIST FORETRAIN_BUILD_ONLY_LIBRARIES)
      target_link_libraries(foretrain_${name} PRIVATE $<BUILD_INTERFACE:${library}>)
    else()
      target_link_libraries(foretrain_${name} PRIVATE ${library})
    endif()
  endforeach()
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
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 120)
  # The same cases on every run of ctest; the binary run by hand draws new ones and prints their seed.
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "RC_PARAMS=seed=20261201")
  if("gpu" IN_LIST ARG_LABELS)
    # A test without its device is reported as skipped, with the reason, not as passed.
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  endif()
endfunction()
