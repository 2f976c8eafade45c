# The headers that programs have, compiled once: for GCC, which tells where they do not fit. Not with HAKOBI_UNITY=OFF, which shows
# what a file lacks of includes. The library has its own (src/CMakeLists.txt), and so have the tests (HakobiTargets.cmake).
set(HAKOBI_PRECOMPILED OFF)
if(HAKOBI_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(HAKOBI_PRECOMPILED ON)
endif()
if(HAKOBI_PRECOMPILED AND HAKOBI_APPS)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/program_headers.cpp CONTENT "")
    add_library(hakobi_program_headers OBJECT ${CMAKE_BINARY_DIR}/program_headers.cpp)
    set_target_properties(hakobi_program_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(hakobi_program_headers PRIVATE -fPIE -fpch-preprocess)  # the latter for ccache
    target_link_libraries(hakobi_program_headers PRIVATE hakobi_flags nlohmann_json::nlohmann_json)
    target_precompile_headers(hakobi_program_headers PRIVATE ${PROJECT_SOURCE_DIR}/src/precompiled.hpp <nlohmann/json.hpp>)
endif()

# hakobi_programs(target …): programs, and static libraries that go into programs alone. What is compiled with options that
# define macros (-fopenmp) is none of them, and a file with options of its own has SKIP_PRECOMPILE_HEADERS.
function(hakobi_programs)
    if(NOT HAKOBI_PRECOMPILED OR NOT HAKOBI_APPS)
        return()
    endif()
    foreach(target IN LISTS ARGN)
        get_target_property(type ${target} TYPE)
        if(NOT type STREQUAL "EXECUTABLE")
            set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
            target_compile_options(${target} PRIVATE -fPIE)
        endif()
        target_compile_options(${target} PRIVATE -fpch-preprocess)
        target_precompile_headers(${target} REUSE_FROM hakobi_program_headers)
    endforeach()
endfunction()
