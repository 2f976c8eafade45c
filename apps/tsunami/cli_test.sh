#!/bin/sh
# For bad input a user gets one line that begins with the program's name, exit status 2, nothing written.
# Usage: cli_test.sh PROGRAM LAUNCHER... (the line that starts 2 ranks)
program=$1
shift
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
quick="--resolution 60 --hours 0.05 --steps-out 1 --output out/t"

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
        lines=$(grep -c '^hakobi-tsunami: ' stderr)
        grep '^hakobi-tsunami: ' stderr | grep -q -e "$text" || lines=0
    fi
    if [ "$got" -ne "$status" ] || [ "$lines" -ne 1 ]; then
        echo "FAILED: $* : status $got instead of $status, or not one line with \"$text\":"
        cat stdout stderr
        failures=$((failures + 1))
    fi
}

launcher=$*
expect 0 'tsunami: 67 x 120 cells' --method root
[ -f out/t_000000.nc ] || { echo "FAILED: no file written"; failures=$((failures + 1)); }
expect 2 'pipelined' --method pipelned
expect 2 'none.nc' --seafloor none.nc
echo 'no sea' >floor.nc
expect 2 'floor.nc' --seafloor floor.nc
expect 2 'unknwon' --unknwon
expect 2 'NAME=VALUE' --hint something
expect 2 'region' --region 140,130,20,30
expect 2 'sea floor' --region 100,130,20,30
expect 2 'steps-out' --steps-out 0
expect 2 'interval' --output-interval 30 --hours 0.1
expect 2 'gauges' --gauges none.json
has_driver=$(ldconfig -p 2>/dev/null | grep -c -e libcuda.so.1 -e libamdhip64)
[ "$has_driver" -gt 0 ] || expect 2 'no GPU' --device
expect 2 'record' --json no/such/folder/r.jsonl
echo 'a file' >in_the_way
expect 2 'in_the_way' --method root --output in_the_way/t
launcher=
expect 0 'tsunami: 67 x 120 cells' --method none
if "$program" --help | grep -q -e '--resolution'; then :; else
    echo "FAILED: --help"
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] && echo "all passed"
exit "$failures"
