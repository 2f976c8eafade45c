#!/bin/sh
# Every program prints the line of the first one on one rank, by every path, and refuses a path that is none.
# Usage: same_life_test.sh "<launcher of one rank>" "<launcher>" program…
set -eu
one_rank=$1
launcher=$2
shift 2
# An unquoted launcher is meant: it is a command line.
wanted=$($one_rank "$1")
error=$(mktemp)
trap 'rm -f "$error"' EXIT
for program in "$@"; do
    for path in auto packed; do
        found=$($launcher "$program" $path)
        [ "$found" = "$wanted" ] || { echo "$program, $path: '$found' instead of '$wanted'" >&2; exit 1; }
    done
    status=0
    $launcher "$program" pakced 2>"$error" >&2 || status=$?
    [ $status -ne 0 ] || { echo "$program: an unknown path is accepted" >&2; exit 1; }
    grep -q "did you mean 'packed'" "$error" || {
        echo "$program: the error does not name the nearest path:" >&2
        cat "$error" >&2
        exit 1
    }
done
