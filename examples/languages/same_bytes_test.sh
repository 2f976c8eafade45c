#!/bin/sh
# Runs each program by several methods and compares its files with those of the first program on one rank.
# Usage: same_bytes_test.sh "<launcher of one rank>" "<launcher>" program…
set -eu
one_rank=$1
launcher=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An unquoted launcher is meant: it is a command line.
$one_rank "$1" "$work/reference" root
for program in "$@"; do
    for method in root pipelined; do
        # Steps of an earlier run, which the programs replace.
        touch "$work/run_000000.nc" "$work/run_000005.nc"
        $launcher "$program" "$work/run" $method
        [ ! -e "$work/run_000005.nc" ] || { echo "$program: the earlier run's steps are there" >&2; exit 1; }
        for step in 000000 000001; do
            cmp "$work/reference_$step.nc" "$work/run_$step.nc" || {
                echo "$program with method $method: step $step differs" >&2
                exit 1
            }
        done
        rm "$work"/run_*
    done
    status=0
    $launcher "$program" "$work/run" pipelind 2>"$work/error" >&2 || status=$?
    [ $status -ne 0 ] || { echo "$program: an unknown method is accepted" >&2; exit 1; }
    grep -q "did you mean 'pipelined'" "$work/error" || {
        echo "$program: the error does not name the nearest method:" >&2
        cat "$work/error" >&2
        exit 1
    }
done
