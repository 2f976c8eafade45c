#!/bin/sh
# The example's files by every method: example.sh EXAMPLE EXPECTED_HEADER NCDUMP LAUNCHER...
# All the same bytes, and, where there is an ncdump, the header that docs and readers rely on.
set -eu
example=$1 expected=$2 ncdump=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for method in root auto per-process parallel pipelined writers; do
    "$@" "$example" "$folder/$method/run" "$method"
    for step in 0 1 2; do
        cmp "$folder/root/run_00000$step.nc" "$folder/$method/run_00000$step.nc"
    done
done
"$@" "$example" "$folder/none/run" none
[ ! -e "$folder/none" ] || { echo "none has written"; exit 1; }
if "$@" "$example" "$folder/none/run" rooot > "$folder/log" 2>&1; then
    echo "an unknown method must fail"
    exit 1
fi
grep -q "did you mean 'root'" "$folder/log"
[ -n "$ncdump" ] || exit 0
"$ncdump" -h "$folder/root/run_000001.nc" | grep -v ':source' | diff "$expected" -
"$ncdump" -v time "$folder/root/run_000001.nc" | grep -q 'time = 0.5'
