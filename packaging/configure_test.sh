#!/bin/sh
# configure_test.sh <source folder> <cmake> <C compiler> <C++ compiler> <mpicc> <ninja>
# Hakobi is configured without its tests, and as a part of another project, without GoogleTest and CLI11 being asked for more
# than they are needed; what that project would build holds no test, no program and nothing of its own names.
set -eu
source=$1 cmake=$2 cc=$3 cxx=$4 mpicc=$5 ninja=$6
work=$(mktemp -d "${TMPDIR:-/tmp}/hakobi_configure.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset HAKOBI_MPI

fail() {
    tail -20 "$work/log" >&2
    echo "configure test: $*" >&2
    exit 1
}
configure() { # <source> <build> <further arguments>
    from=$1 to=$2
    shift 2
    "$cmake" -G Ninja -S "$from" -B "$to" -DCMAKE_MAKE_PROGRAM="$ninja" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DMPI_C_COMPILER="$mpicc" -DCMAKE_DISABLE_FIND_PACKAGE_GTest=TRUE "$@" >"$work/log" 2>&1
}
configure "$source" "$work/without" -DHAKOBI_TESTS=OFF -DHAKOBI_FORTRAN=OFF || fail "-DHAKOBI_TESTS=OFF"
"$ninja" -C "$work/without" -n >"$work/log" 2>&1 || fail "-DHAKOBI_TESTS=OFF has no whole set of rules"
if grep -q 'Linking.*tests/' "$work/log"; then fail "-DHAKOBI_TESTS=OFF builds tests"; fi

mkdir "$work/solver"
printf '#include <mpi.h>\n#include <hakobi/hakobi.hpp>\nint main() { return hakobi::output_methods().empty(); }\n' >"$work/solver/main.cpp"
cat >"$work/solver/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(solver LANGUAGES CXX)
add_custom_target(programs)
add_subdirectory($source hakobi)
add_executable(solver main.cpp)
target_link_libraries(solver PRIVATE hakobi::hakobi)
get_property(type CACHE CMAKE_BUILD_TYPE PROPERTY VALUE)
if(type)
    message(FATAL_ERROR "Hakobi set the project's build type: \${type}")
endif()
EOF
configure "$work/solver" "$work/as_part" -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=TRUE || fail "add_subdirectory"
"$ninja" -C "$work/as_part" -n solver >"$work/log" 2>&1 || fail "add_subdirectory has no whole set of rules"
"$ninja" -C "$work/as_part" -t targets all >"$work/targets" 2>"$work/log"
if grep -E '^bin/hakobi|_test:|GTest' "$work/targets"; then fail "add_subdirectory builds programs or tests"; fi
