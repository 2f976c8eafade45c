#!/bin/sh
# Makes the Debian package of a build, unpacks it into a folder, and builds and runs a consumer on what is there.
# Usage: deb_test.sh <build folder> <C compiler> <C++ compiler> <MPI library's package> "<launcher of 2 ranks>"
# Exit status 77 (skipped, with a line that says why) where Debian's tools are missing.
set -eu
build=$1
cc=$2
cxx=$3
mpi_package=$4
launcher=$5
source=$(cd "$(dirname "$0")/.." && pwd)
for tool in cpack dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no '$tool'"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "deb test: $*" >&2
    exit 1
}

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/cpack" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cpack"; }
deb=$(ls "$work"/cpack/*.deb)
depends=$(dpkg-deb -f "$deb" Depends)
for package in python3-click "$mpi_package" libhdf5-103-1 libhwloc15; do
    case "$depends" in *"$package"*) ;; *) fail "it does not depend on $package: $depends" ;; esac
done
dpkg-deb -x "$deb" "$work/root"
prefix=$work/root/usr
! grep -rlF "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" || fail "these name $build"

cmake -S "$source/packaging/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 &&
    cmake --build "$work/consumer" >>"$work/log" 2>&1 || { cat "$work/log" >&2; fail "find_package(hakobi)"; }
mkdir "$work/out"
for language in cpp c fortran; do
    $launcher "$work/consumer/wave_$language" "$work/out/$language" pipelined || fail "wave_$language"
    cmp "$work/out/cpp_000001.nc" "$work/out/${language}_000001.nc" || fail "wave_$language differs"
done
python=$source/.venv/bin/python
[ -x "$python" ] || python=$(command -v python3)
HAKOBI_PYTHON=$python "$prefix/bin/hakobi" --version | grep -q '^hakobi [0-9]' || fail "bin/hakobi --version"
HAKOBI_PYTHON=$python "$prefix/bin/hakobi" run --print -- $launcher true | grep -q "$prefix/.*libhakobi_mpiio.so" ||
    fail "bin/hakobi run does not take the drop-in of its package"
