#!/bin/sh
# own_mpi_test.sh <source folder> <cmake> <C compiler> <mpicc> <soname of the MPI library>
# An MPI library in a folder of its own, which is not the first in PATH: each way to name it finds its compiler, the launcher
# that lies beside it, the shared library, whose file is a script of the linker's here (as in PyPI's wheels), and the flags
# that a plain compiler needs; no other library's Fortran compiler is taken.
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
line=$("$mpicc" -show | sed "s|^[^ ]*|$cc|; s|-lmpi\(ch\)\{0,1\}\( .*\)\{0,1\}\$|-L$own/lib -Wl,-rpath,$own/lib -lmpi_own|")
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
for program in mpicc mpiexec; do cp "$own/bin/$program" "$own/bin/$program.own"; done
chmod +x "$own"/bin/*
cat > "$work/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(own LANGUAGES C)
include($source/cmake/HakobiMpi.cmake)
message(STATUS "took \${MPI_C_COMPILER} \${MPIEXEC_EXECUTABLE} \${HAKOBI_MPI_SONAME};\${MPI_Fortran_COMPILER}")
message(STATUS "flags:\${HAKOBI_MPI_CFLAGS} \${HAKOBI_MPI_LIBS}")
EOF

unset HAKOBI_MPI
status=0
wrong() {
    echo "$*"
    cat "$work/log"
    status=1
}
expect() { # <name of the case> <compiler> <launcher> <arguments of cmake>
    name=$1 took="took $own/bin/$2 $own/bin/$3 $soname;"
    shift 3
    "$cmake" -S "$work/project" -B "$work/$name" "$@" > "$work/log" 2>&1 || true
    grep -qF -- "$took" "$work/log" || wrong "$name: not the library in $own"
    flags=$(sed -n 's/^-- flags://p' "$work/log")
    case $flags in *-Wl,-rpath,"$own/lib"*) ;; *) wrong "$name: no run path in the flags" ;; esac
    # Unquoted: flags.
    "$cc" "$work/a.c" -o "$work/a.$name" $flags >> "$work/log" 2>&1 || wrong "$name: a plain compiler cannot use the flags"
}
expect mpi_c_compiler mpicc mpiexec -DCMAKE_C_COMPILER="$cc" -DMPI_C_COMPILER="$own/bin/mpicc"
expect mpi_cxx_compiler mpicc mpiexec -DCMAKE_C_COMPILER="$cc" -DMPI_CXX_COMPILER="$own/bin/mpicxx"
expect mpi_home mpicc mpiexec -DCMAKE_C_COMPILER="$cc" -DMPI_HOME="$own"
expect cc mpicc mpiexec -DCMAKE_C_COMPILER="$own/bin/mpicc"
expect rest_of_the_name mpicc.own mpiexec.own -DCMAKE_C_COMPILER="$own/bin/mpicc.own"

"$cmake" -S "$work/project" -B "$work/no_fortran" -DCMAKE_C_COMPILER="$cc" -DMPI_HOME="$own" -DHAKOBI_FORTRAN=ON \
    > "$work/log" 2>&1 && wrong "no_fortran: it was configured with another library's Fortran compiler"
grep -q HAKOBI_FORTRAN=OFF "$work/log" || wrong "no_fortran: the message does not say what to do"
cp "$own/bin/mpiexec" "$own/bin/mpif90"
expect fortran mpicc mpiexec -DCMAKE_C_COMPILER="$cc" -DMPI_HOME="$own" -DHAKOBI_FORTRAN=ON
grep -qF "$soname;$own/bin/mpif90" "$work/log" || wrong "fortran: not the compiler in $own"
exit $status
