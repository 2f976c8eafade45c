#!/bin/sh
# A user gets results, or for bad input one line that begins with the program's name and exit status 2.
# Usage: cli_test.sh PROGRAM LAUNCHER... (the line that starts 2 ranks)
program=$1
shift
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
quick="--mult-time 0 --max-iterations 0"

# expect STATUS TEXT ARGUMENTS...: TEXT is part of the one line (for status 0: of what is printed).
expect() {
    status=$1
    text=$2
    shift 2
    # shellcheck disable=SC2086
    $launcher "$program" $quick "$@" >stdout 2>stderr
    got=$?
    if [ "$status" -eq 0 ]; then
        lines=1
        grep -q -e "$text" stdout || lines=0
    else
        lines=$(grep -c '^hakobi-lattice: ' stderr)
        grep '^hakobi-lattice: ' stderr | grep -q -e "$text" || lines=0
    fi
    if [ "$got" -ne "$status" ] || [ "$lines" -ne 1 ]; then
        echo "FAILED: $* : status $got instead of $status, or not one line with \"$text\":"
        cat stdout stderr
        failures=$((failures + 1))
    fi
}

launcher=$*
expect 0 'plaquette 0\.' --lattice 4,4,4,8 --sweeps 1 --write c.nersc --json r.jsonl
expect 0 'c.nersc: right by checksum, plaquette' --start c.nersc --write c.lime --format ildg
expect 0 'c.lime: right by SciDAC checksums' --start c.lime --grid 2,1,1,1
expect 0 'residual' --lattice 4,4,4,4 --max-iterations 500 --mult-time 0.01 --json r.jsonl
[ "$(grep -c '"kind":"summary"' r.jsonl)" -eq 2 ] || { echo "FAILED: records"; failures=$((failures + 1)); }
expect 2 'even' --lattice 4,4,4,7
expect 2 'none.nersc' --start none.nersc
echo 'a picture' >picture
head -c 5000 c.nersc >torn.nersc
head -c 20000 c.lime >torn.lime
expect 2 'torn' --start torn.nersc
sed 's/IEEE64BIG/IEEE64LITTLE/' c.nersc >swapped.nersc
expect 2 'in big-endian order' --start swapped.nersc
sed 's/^CHECKSUM = ./CHECKSUM = z/' c.nersc >checksum.nersc
expect 1 'no/such' --write no/such/folder/c.nersc
launcher=
expect 2 'CHECKSUM' --start checksum.nersc
expect 2 'ranks' --lattice 4,4,4,8 --grid 1,1,1,3
expect 2 'xyzt' --split xyw
expect 2 'nothing can be read' --start .
expect 2 '4x4x4x8' --start c.nersc --lattice 4,4,4,4
expect 2 'neither a NERSC' --start picture
expect 2 'torn' --start torn.lime
expect 2 'mpi-datatypes' --exchange pigeon
has_driver=$(ldconfig -p 2>/dev/null | grep -c -e libcuda.so.1 -e libamdhip64)
[ "$has_driver" -gt 0 ] || expect 2 'no GPU' --exchange hakobi-device
expect 2 'unknwon' --unknwon
expect 2 'record' --json no/such/folder/r.jsonl
expect 0 'c.lime: right by' --start c.lime
if "$program" --help | grep -q -e '--lattice'; then :; else
    echo "FAILED: --help"
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] && echo "all passed"
exit "$failures"
