#!/bin/sh
# Writes a series on one rank and has each program read it back: they print the same lines.
# Usage: same_sums_test.sh "<launcher of one rank>" "<launcher>" WRITER program…
set -eu
one_rank=$1
launcher=$2
writer=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An unquoted launcher is meant: it is a command line.
$one_rank "$writer" "$work/run" root
printf 'missing: -9999\nstep 0 at 0 s: 141433890.00\nstep 1 at 60 s: 141435850.25\n' >"$work/expected"
for program in "$@"; do
    $launcher "$program" "$work/run" >"$work/printed"
    cmp -s "$work/expected" "$work/printed" || {
        echo "$program printed:" >&2
        cat "$work/printed" >&2
        exit 1
    }
    status=0
    $launcher "$program" "$work/rum" >"$work/error" 2>&1 || status=$?
    [ $status -ne 0 ] || { echo "$program: a series that is not there is accepted" >&2; exit 1; }
    grep -q "did you mean 'run'" "$work/error" || {
        echo "$program: the error does not name the nearest series:" >&2
        cat "$work/error" >&2
        exit 1
    }
done
