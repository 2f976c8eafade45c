#!/bin/sh
# Has each program write and read its mesh by several methods: they print the same line, and write the bytes of the first.
# Usage: same_meshes_test.sh "<launcher>" "expected line" program…
set -eu
launcher=$1
expected=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An unquoted launcher is meant: it is a command line.
$launcher "$1" "$work/first/run" root >/dev/null
for program in "$@"; do
    for method in root pipelined; do
        printed=$($launcher "$program" "$work/$method/run" $method)
        [ "$printed" = "$expected" ] || { echo "$program with method $method printed: $printed" >&2; exit 1; }
        for file in run_000000.hdf run_000000.hdf.mesh run_000001.hdf; do
            cmp "$work/first/$file" "$work/$method/$file" || {
                echo "$program with method $method: $file differs" >&2
                exit 1
            }
        done
    done
done
