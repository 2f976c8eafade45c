#!/bin/sh
# Fails where a library calls a function of MPI's that another does not define. Usage: complete_test.sh <nm> <caller> <definer>
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" -D --undefined-only "$2" | grep -o ' P\?MPIX\?_[A-Za-z_0-9]*' | sort -u >"$work/called"
"$1" -D --defined-only "$3" | grep -o ' P\?MPIX\?_[A-Za-z_0-9]*' | sort -u >"$work/defined"
[ -s "$work/called" ] || { echo "$2 calls nothing of MPI's" >&2; exit 1; }
missing=$(comm -23 "$work/called" "$work/defined")
[ -z "$missing" ] || { echo "$3 lacks$missing" >&2; exit 1; }
