#!/bin/sh
# own_mpi_test.sh <source folder> <cmake> <C compiler> <mpicc> <soname of the MPI library>
# An MPI library in a folder of its own, which is not the first in PATH: each way to name it finds its compiler, the launcher
# that lies beside it, and the shared library, whose file is a script of the linker's here (as in PyPI's wheels).
set -eu
source=$1 cmake=$2 cc=$3 mpicc=$4 soname=$5
work=$(mktemp -d "${TMPDIR:-/tmp}/hakobi_own_mpi.XXXXXX")
trap 'rm -rf "$work"' EXIT
own=$work/own
mkdir -p "$own/bin" "$own/lib" "$work/project"

printf '#include <mpi.h>\nint main(void) { return MPI_File_close(0); }\n' > "$work/a.c"
"$mpicc" "$work/a.c" -o "$work/a.out"
library=$(ldd "$work/a.out" | awk -v name="$soname" '$1 == name { print $3 }')
echo "INPUT($library)" > "$own/lib/libmpi_own.so"
line=$("$mpicc" -show | sed "s|^[^ ]*|$cc|; s|-lmpi\(ch\)\{0,1\}\( .*\)\{0,1\}\$|-L$own/lib -lmpi_own|")
cat > "$own/bin/mpicc" <<EOF
#!/bin/sh
case "\${1:-}" in
    -show) echo "$line" ;;
    -showme*|-compile*|-link*) exit 1 ;;
    *) exec "$mpicc" "\$@" ;;
esac
EOF
printf '#!/bin/sh\nexit 1\n' > "$own/bin/mpiexec"
cp "$own/bin/mpiexec" "$own/bin/mpicxx"
chmod +x "$own"/bin/*
cat > "$work/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(own LANGUAGES C)
include($source/cmake/HakobiMpi.cmake)
message(STATUS "took \${MPI_C_COMPILER} \${MPIEXEC_EXECUTABLE} \${HAKOBI_MPI_SONAME};")
EOF

unset HAKOBI_MPI
status=0
expect() { # <name of the case> <arguments of cmake>
    name=$1
    shift
    "$cmake" -S "$work/project" -B "$work/$name" "$@" > "$work/log" 2>&1 || true
    if ! grep -qF -- "took $own/bin/mpicc $own/bin/mpiexec $soname;" "$work/log"; then
        echo "$name: not the library in $own"
        cat "$work/log"
        status=1
    fi
}
expect mpi_c_compiler -DCMAKE_C_COMPILER="$cc" -DMPI_C_COMPILER="$own/bin/mpicc"
expect mpi_cxx_compiler -DCMAKE_C_COMPILER="$cc" -DMPI_CXX_COMPILER="$own/bin/mpicxx"
expect mpi_home -DCMAKE_C_COMPILER="$cc" -DMPI_HOME="$own"
expect cc -DCMAKE_C_COMPILER="$own/bin/mpicc"
exit $status
