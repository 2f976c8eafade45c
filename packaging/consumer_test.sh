#!/bin/sh
# Installs a build, moves it, builds the consumer project against it by CMake and by pkg-config, runs the programs on
# 2 ranks and compares what they wrote.
# Usage: consumer_test.sh <build folder> <C compiler> <C++ compiler> <MPI's Fortran compiler> "<launcher of 2 ranks>"
set -eu
build=$1
cc=$2
cxx=$3
mpifort=$4
launcher=$5
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "consumer test: $*" >&2
    exit 1
}

# Paths of the build tree would still work here and nowhere else: look for them, and move what was installed.
cmake --install "$build" --prefix "$work/staged" >"$work/install.log" || { cat "$work/install.log" >&2; fail "cmake --install"; }
mv "$work/staged" "$work/installed"
prefix=$work/installed
text=$(find "$prefix" -name '*.cmake' -o -name '*.pc')
[ -n "$text" ] || fail "no CMake package and no pkg-config file is installed"
for path in "$build" "$source" "$work/staged"; do
    # Unquoted: a list of files, whose names have no blanks.
    if grep -lF "$path" $text; then fail "these name $path"; fi
done
for program in "$build"/bin/hakobi-*; do
    [ -e "$prefix/bin/$(basename "$program")" ] || fail "$(basename "$program") is not installed"
done
for library in "$prefix"/lib*/libhakobi*.so "$prefix"/lib/*/libhakobi*.so "$prefix"/bin/*; do
    [ -e "$library" ] || continue
    if readelf -d "$library" | grep -E 'R(UN)?PATH' | grep -F "$build"; then fail "$library has a run path into $build"; fi
done

cmake -S "$source/packaging/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/log" 2>&1 || { cat "$work/log" >&2; fail "find_package(hakobi)"; }

pc=$(find "$prefix" -name hakobi.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
mkdir "$work/pc"
# Unquoted: flags.
"$cxx" -std=c++20 "$source/examples/languages/wave.cpp" -o "$work/pc/wave_cpp" $(pkg-config --cflags --libs hakobi)
"$cc" -std=c99 -pedantic-errors "$source/examples/languages/wave.c" -o "$work/pc/wave_c" $(pkg-config --cflags --libs hakobi)
"$mpifort" "$source/examples/languages/wave.f90" -o "$work/pc/wave_fortran" $(pkg-config --cflags --libs hakobi-fortran)

mkdir "$work/out"
for way in cmake pc; do
    for language in cpp c fortran; do
        $launcher "$work/$way/wave_$language" "$work/out/$way-$language" writers || fail "$way/wave_$language"
        for step in 000000 000001; do
            cmp "$work/out/cmake-cpp_$step.nc" "$work/out/$way-${language}_$step.nc" || fail "$way/wave_$language differs"
        done
    done
done

# docs/first-hour.md to the letter: its commands in an empty folder, with this prefix and these compilers.
page=$source/docs/first-hour.md
mkdir "$work/hour"
cp "$source/examples/first-hour/heat.cpp" "$source/examples/first-hour/heat.f90" "$work/hour"
mpicxx() { "$cxx" "$@"; }
mpifort() { "$mpifort" "$@"; }
(
    cd "$work/hour"
    unset PKG_CONFIG_PATH
    eval "$(grep '^export PATH=' "$page" | sed "s|<where>|$prefix|g")"
    [ "$(command -v hakobi)" = "$prefix/bin/hakobi" ] || fail "PATH of docs/first-hour.md"
    for command in "$(grep -o '^mpicxx.* heat.cpp .*' "$page")" "$(grep -o 'mpifort.* heat.f90 [^`]*' "$page")"; do
        eval "$command" || fail "$command"
        $launcher ./heat --output plate --steps 2 >said || fail "$command: ./heat"
        [ -f plate_000001.nc ] || fail "$command: ./heat wrote nothing"
        rm plate*
    done
) || exit 1

# The programs that developers compare with are such a project too.
cmake -S "$source/lab" -B "$work/lab" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    >"$work/log" 2>&1 && cmake --build "$work/lab" >>"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the lab"; }
"$work/lab/descriptions/description_words" 16 4 | grep -q 'mesh ' || fail "lab: description_words"
! find "$prefix" | grep -v '/hakobi/testbeds\.py$' | grep -E 'hakobi_lab|testbed|bench_post' || fail "the lab is installed"

"$source/packaging/projects_test.sh" "$prefix" "$cc" "$cxx" "$(command -v gfortran || echo "$mpifort")" "$launcher"

# The command of the prefix runs what lies in the prefix; a Python without click is told what to type.
python=$source/.venv/bin/python
[ -x "$python" ] || python=$(command -v python3)
if "$python" -c 'import click' 2>/dev/null; then
    HAKOBI_PYTHON=$python "$prefix/bin/hakobi" --version | grep -q '^hakobi [0-9]' || fail "bin/hakobi --version"
    HAKOBI_PYTHON=$python "$prefix/bin/hakobi" run --print -- $launcher true | grep -q "$prefix/.*libhakobi_mpiio.so" ||
        fail "bin/hakobi run does not take the drop-in of its prefix"
fi
HAKOBI_PYTHON=/nowhere "$prefix/bin/hakobi" run 2>&1 | grep -q 'HAKOBI_PYTHON' || fail "bin/hakobi without a Python"
