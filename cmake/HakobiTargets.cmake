# Warnings and sanitizers for every target of the project, and the one registration of tests.
add_library(hakobi_warnings INTERFACE)
target_compile_options(hakobi_warnings INTERFACE
    # In a unity build a name of one file would shadow that of another, and a class of any file but the first
    # be of an included one.
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wno-missing-field-initializers>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow$<$<AND:$<BOOL:${HAKOBI_UNITY}>,$<CXX_COMPILER_ID:GNU>>:=local>>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    $<$<AND:$<BOOL:${HAKOBI_UNITY}>,$<COMPILE_LANGUAGE:CXX>>:-Wno-subobject-linkage>
    $<$<AND:$<BOOL:${HAKOBI_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
# For programs without our warnings (other people's, or Fortran) the sanitizers alone;
# tests/sanitizers/options.c says how they are set up.
add_library(hakobi_sanitizers INTERFACE)
if(HAKOBI_SANITIZE)
    target_compile_options(hakobi_sanitizers INTERFACE -fsanitize=${HAKOBI_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(hakobi_sanitizers INTERFACE -fsanitize=${HAKOBI_SANITIZE})
    if(HAKOBI_SANITIZE MATCHES "thread")
        # GCC 12's thread sanitizer takes a block of dynamic thread-local storage that begins 16 bytes above a
        # page for one of an old C library, reads its size from the bytes before it, and ends the process over
        # that size: have none.
        target_compile_options(hakobi_sanitizers INTERFACE -ftls-model=initial-exec)
    endif()
    # Compiled by itself: a target of C++ alone has no C headers to compile before.
    add_library(hakobi_sanitizer_options OBJECT ${PROJECT_SOURCE_DIR}/tests/sanitizers/options.c)
    target_compile_options(hakobi_sanitizer_options PRIVATE -fsanitize=${HAKOBI_SANITIZE} -fno-omit-frame-pointer -fPIE)
    target_sources(hakobi_sanitizers INTERFACE
        $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:hakobi_sanitizer_options>>)
endif()
if(HAKOBI_FUZZ)
    # Counters for the fuzzer and for llvm-cov; what a fuzzed reader goes through is instrumented, whatever
    # library it is in.
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link$<SEMICOLON>-fprofile-instr-generate$<SEMICOLON>-fcoverage-mapping>)
    add_link_options(-fprofile-instr-generate)
endif()
add_library(hakobi_flags INTERFACE)
target_link_libraries(hakobi_flags INTERFACE hakobi_warnings hakobi_sanitizers)
# Files are named from here on: objects say nothing of the folder that they were made in, and ccache finds
# those of another clone.
target_compile_options(hakobi_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)

# The library that tests test is built as users build it. Their own code need not be fast, but soon compiled.
set(HAKOBI_TEST_OPTIONS "")
if(NOT HAKOBI_SANITIZE)
    set(HAKOBI_TEST_OPTIONS -O0 $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
endif()

# hakobi_command_lines(options.cpp …): sources that read a command line by CLI11, which need not be fast, but
# soon compiled.
function(hakobi_command_lines)
    if(NOT HAKOBI_SANITIZE)
        set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
    endif()
endfunction()

# hakobi_exports(target map): the library exports what the linker's version script `map` says, and nothing
# else.
function(hakobi_exports target map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${map})
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${map})
endfunction()

if(HAKOBI_TESTS)
    find_package(GTest REQUIRED)
    # main of the tests that run under MPI's launcher, and of the others: compiled once, and so are the
    # headers that all tests have.
    foreach(kind IN ITEMS plain mpi)
        add_library(hakobi_${kind}_main OBJECT ${PROJECT_SOURCE_DIR}/tests/${kind}_main.cpp)
        target_include_directories(hakobi_${kind}_main PRIVATE ${PROJECT_SOURCE_DIR}/include)
        target_link_libraries(hakobi_${kind}_main PRIVATE hakobi_flags GTest::gtest)
        if(HAKOBI_UNITY)
            # Compiled as the tests are, which are programs.
            set_target_properties(hakobi_${kind}_main PROPERTIES POSITION_INDEPENDENT_CODE OFF)
            target_compile_options(hakobi_${kind}_main PRIVATE -fPIE ${HAKOBI_TEST_OPTIONS})
        endif()
    endforeach()
    if(HAKOBI_UNITY)
        target_precompile_headers(hakobi_plain_main PRIVATE ${PROJECT_SOURCE_DIR}/tests/precompiled.hpp)
        target_precompile_headers(hakobi_mpi_main REUSE_FROM hakobi_plain_main)
    endif()
    target_link_libraries(hakobi_mpi_main PRIVATE MPI::MPI_C)
endif()

# The launcher line for n ranks: oversubscribed, and yielding while it polls where the library can.
function(hakobi_mpiexec out ranks)
    set(line ${MPIEXEC_EXECUTABLE} -n ${ranks})
    if(HAKOBI_MPI_FLAVOUR STREQUAL openmpi)
        set(line env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${MPIEXEC_EXECUTABLE} --oversubscribe
                 --bind-to none --mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0 -n ${ranks})
    endif()
    set(${out} ${line} PARENT_SCOPE)
endfunction()

# The cores that CTest keeps for several ranks. Open MPI's give way to others while they wait, and to start
# them is mostly waiting; MPICH's spin.
set(HAKOBI_RANKS_CORES 2)
if(HAKOBI_MPI_FLAVOUR STREQUAL openmpi)
    set(HAKOBI_RANKS_CORES 1)
endif()

# A target whose sources are compiled as those of tests are, with the same headers compiled before.
function(hakobi_compiled_as_test target)
    target_link_libraries(${target} PRIVATE GTest::gtest)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(${target} PRIVATE ${HAKOBI_TEST_OPTIONS})
    if(HAKOBI_UNITY)
        target_precompile_headers(${target} REUSE_FROM hakobi_plain_main)
    endif()
endfunction()

# hakobi_optimised_tests(program …): tests that compare so many bytes that to compile them soon does not pay.
function(hakobi_optimised_tests)
    if(HAKOBI_TESTS AND NOT HAKOBI_SANITIZE)
        foreach(target IN LISTS ARGN)
            target_compile_options(${target} PRIVATE -O2)
            set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
        endforeach()
    endif()
endfunction()

function(hakobi_object_name out source)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${source} source)
    set(${out} ${source} PARENT_SCOPE)
endfunction()

# hakobi_compiled_once(a_test.cpp …): sources of several tests with RANKS, which those that are registered
# later share.
function(hakobi_compiled_once)
    if(HAKOBI_TESTS)
        foreach(source IN LISTS ARGN)
            hakobi_object_name(object ${source})
            add_library(${object} OBJECT ${source})
            set_target_properties(${object} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
            target_compile_options(${object} PRIVATE -fPIE)  # as programs are
            target_link_libraries(${object} PRIVATE hakobi_objects hakobi_flags)
            hakobi_compiled_as_test(${object})
        endforeach()
    endif()
endfunction()

# hakobi_test(name SOURCES a_test.cpp … [LIBS …] [RANKS 1 2 3 4] [TIMEOUT_S 120] [HEAVY] [FAKE_DEVICE]
# [ALONE]) One CTest entry for each rank count; without RANKS it runs without MPI's launcher. Tests of a
# folder share a program, <folder>_mpi_tests with RANKS (tests/mpi_main.cpp) and <folder>_tests without
# (tests/plain_main.cpp), of which an entry runs what its files have. A test has a program of its own, of its
# name, where it is ALONE, has sources other than tests, or sets up a fake device. HEAVY: with MPICH at most 2
# ranks (it spins while it waits, and more ranks than cores then take minutes). Tests that `make test` has no
# time for have the label long, and `make nightly` runs them: of HEAVY tests all rank counts but 1 and 3 with
# Open MPI, and but 2 with MPICH; of others those above 3 with MPICH, and those without RANKS.
# FAKE_DEVICE: the drivers that it finds are those of tests/device.
function(hakobi_test name)
    if(NOT HAKOBI_TESTS)
        return()
    endif()
    cmake_parse_arguments(arg "HEAVY;FAKE_DEVICE;ALONE" "TIMEOUT_S" "SOURCES;LIBS;RANKS" ${ARGN})
    if(NOT arg_TIMEOUT_S)
        set(arg_TIMEOUT_S 120)
    endif()
    if(HAKOBI_SANITIZE)
        math(EXPR arg_TIMEOUT_S "${arg_TIMEOUT_S} * 5")
    endif()
    set(kind plain)
    if(arg_RANKS)
        set(kind mpi)
    endif()
    set(others ${arg_SOURCES})
    list(FILTER others EXCLUDE REGEX "_test[.]cpp$")
    set(files "")
    set(program ${name})
    if(NOT arg_ALONE AND NOT arg_FAKE_DEVICE AND NOT others)
        list(TRANSFORM arg_SOURCES REPLACE "^.*/" "" OUTPUT_VARIABLE files)
        list(JOIN files "," files)
        set(files --files=${files})
        cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE program)
        string(REGEX REPLACE "^src/" "" program ${program})
        string(REPLACE "/" "_" program "${program}_${kind}_tests")
        string(REPLACE "_plain_" "_" program ${program})
    endif()
    if(NOT TARGET ${program})
        add_executable(${program})
        target_link_libraries(${program} PRIVATE hakobi_internal hakobi_flags hakobi_${kind}_main $<$<STREQUAL:${kind},mpi>:output_reference>)
        set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
        hakobi_compiled_as_test(${program})
    endif()
    foreach(source IN LISTS arg_SOURCES)
        hakobi_object_name(object ${source})
        if(TARGET ${object})
            set(source $<TARGET_OBJECTS:${object}>)
        endif()
        target_sources(${program} PRIVATE ${source})
    endforeach()
    target_link_libraries(${program} PRIVATE ${arg_LIBS})
    set(environment "")
    if(arg_FAKE_DEVICE)
        add_dependencies(${program} hakobi_fake_drivers)
        set(environment ENVIRONMENT_MODIFICATION LD_LIBRARY_PATH=path_list_prepend:${CMAKE_BINARY_DIR}/fake_device)
    endif()
    if(NOT arg_RANKS)
        add_test(NAME ${name} COMMAND ${program} ${files} --gtest_shuffle)
        set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT_S} ${environment})
        if(HAKOBI_MPI_FLAVOUR STREQUAL mpich)  # it says the same with Open MPI
            set_tests_properties(${name} PROPERTIES LABELS long)
        endif()
        return()
    endif()
    set(long "")
    if(arg_HEAVY)
        set(long 2 4 7)
    endif()
    if(HAKOBI_MPI_FLAVOUR STREQUAL mpich)
        set(long 4 7)
        if(arg_HEAVY)
            set(long 1)
        endif()
    endif()
    foreach(ranks IN LISTS arg_RANKS)
        if(arg_HEAVY AND HAKOBI_MPI_FLAVOUR STREQUAL mpich AND ranks GREATER 2)
            continue()
        endif()
        hakobi_mpiexec(line ${ranks})
        set(cores ${HAKOBI_RANKS_CORES})
        if(ranks EQUAL 1)
            set(cores 1)
        endif()
        add_test(NAME ${name}.${ranks} COMMAND ${line} $<TARGET_FILE:${program}> ${files})
        set_tests_properties(${name}.${ranks} PROPERTIES TIMEOUT ${arg_TIMEOUT_S} PROCESSORS ${cores} ${environment})
        if(ranks IN_LIST long AND NOT arg_RANKS STREQUAL ranks)  # not the only one
            set_tests_properties(${name}.${ranks} PROPERTIES LABELS long)
        endif()
    endforeach()
endfunction()
