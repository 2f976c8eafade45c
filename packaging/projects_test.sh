#!/bin/sh
# Projects that know only docs/install.md: each in one language, against an installed Hakobi, by find_package and by pkg-config, with
# <mpi.h> before our header, and in C++17.
# Usage: projects_test.sh <prefix> <C compiler> <C++ compiler> <Fortran compiler> "<launcher of 2 ranks>"
set -eu
prefix=$1 cc=$2 cxx=$3 fortran=$4 launcher=$5
work=$(mktemp -d "${TMPDIR:-/tmp}/hakobi_projects.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset HAKOBI_MPI CC CXX FC
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name hakobi.pc)")
export PKG_CONFIG_PATH

fail() {
    head -40 "$work/log" >&2
    echo "projects test: $*" >&2
    exit 1
}

cat >"$work/main.cpp" <<'EOF'
#include <mpi.h>
#include <hakobi/hakobi.hpp>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const bool right = comm.size() == 2;
    comm.free();
    MPI_Finalize();
    return right ? 0 : 1;
}
EOF
cat >"$work/main.c" <<'EOF'
#include <mpi.h>
#include <hakobi.h>

int main(int argc, char** argv) {
    hakobi_comm* comm;
    int right;
    MPI_Init(&argc, &argv);
    if (hakobi_comm_duplicate(MPI_COMM_WORLD, &comm) != HAKOBI_OK) return 2;
    right = hakobi_comm_size(comm) == 2;
    hakobi_comm_free(comm);
    MPI_Finalize();
    return right ? 0 : 1;
}
EOF
cat >"$work/main.f90" <<'EOF'
program main
    use mpi
    use hakobi
    implicit none
    type(hakobi_comm) :: comm
    integer :: error
    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    if (comm%size() /= 2) error stop 1
    call comm%free()
    call MPI_Finalize(error)
end program
EOF

# <language> <source> <target> [<further CMake lines>]
project() {
    mkdir -p "$work/$1"
    printf '%s\n' "cmake_minimum_required(VERSION 3.25)" "project(solver LANGUAGES $1)" "find_package(hakobi REQUIRED)" "${4:-}" \
        "add_executable(solver ../$2)" "target_link_libraries(solver PRIVATE $3)" >"$work/$1/CMakeLists.txt"
    cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_Fortran_COMPILER="$fortran" -Wno-dev --no-warn-unused-cli >"$work/log" 2>&1 &&
        cmake --build "$work/$1/build" >>"$work/log" 2>&1 || fail "find_package(hakobi) in a project of $1 alone"
    $launcher "$work/$1/build/solver" >"$work/log" 2>&1 || fail "the solver of the project of $1 does not run"
}
project C main.c hakobi::hakobi
# A project in C++17: the target asks for the C++20 that its header needs.
project CXX main.cpp hakobi::hakobi 'set(CMAKE_CXX_STANDARD 17)'

# Unquoted: flags.
rpath=-Wl,-rpath,$(pkg-config --variable=libdir hakobi)
"$cxx" -std=c++20 "$work/main.cpp" -o "$work/pc" $(pkg-config --cflags --libs hakobi) "$rpath" >"$work/log" 2>&1 ||
    fail "mpi.h before hakobi.hpp does not link by pkg-config"
$launcher "$work/pc" >"$work/log" 2>&1 || fail "the solver built by pkg-config does not run"
if "$cxx" -std=c++17 -fsyntax-only $(pkg-config --cflags hakobi) -include hakobi/hakobi.hpp -x c++ /dev/null >"$work/log" 2>&1; then
    fail "hakobi.hpp was compiled as C++17"
fi
[ "$(grep -c 'error:' "$work/log")" = 1 ] && grep -q 'need C++20.*-std=c++20.*hakobi.h' "$work/log" ||
    fail "not one error that says what to do for C++17"
cp "$work/main.c" "$work/c_as_cxx17.cpp"
"$cxx" -std=c++17 "$work/c_as_cxx17.cpp" -o "$work/c_as_cxx17" $(pkg-config --cflags --libs hakobi) "$rpath" >"$work/log" 2>&1 ||
    fail "hakobi.h is not taken by C++17"

[ -n "$(find "$prefix" -name hakobi-fortran.pc)" ] || exit 0
project Fortran main.f90 hakobi::fortran 'find_package(MPI REQUIRED COMPONENTS Fortran)
link_libraries(MPI::MPI_Fortran)'
