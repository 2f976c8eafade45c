#!/bin/sh
# Tests the files that a killed run leaves: killed_run.sh KILLED_RUN HAKOBI_GATHER LAUNCHER...
# Steps that were ended have their file (per-process: after hakobi-gather), the others have none, whatever the method; where
# output is hidden, fewer may have one.
set -eu
killed_run=$1 gather=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "killed_run.sh: $method: $*" >&2
    ls -R "$folder" >&2
    exit 1
}
run() {
    status=0
    timeout 60 "$@" > "$folder/log" 2>&1 || status=$?
    [ "$status" -ne 0 ] || fail "the run was to be killed"
    [ "$status" -ne 124 ] || fail "the run hangs"
}
HAKOBI_ASYNCHRONOUS=0
export HAKOBI_ASYNCHRONOUS
for method in root parallel pipelined writers per-process; do
    run "$@" "$killed_run" "$folder/$method/run" "$method"
    if [ "$method" = per-process ]; then
        status=0
        "$gather" "$folder/$method" > "$folder/files" 2> "$folder/left" || status=$?
        # The third step's pieces are not all there, if there are any.
        [ "$status" -le 1 ] || fail "hakobi-gather: $(cat "$folder/left")"
        [ "$(wc -l < "$folder/files")" -eq 2 ] || fail "gathered $(cat "$folder/files")"
        [ "$status" -eq 0 ] || grep -q run_000002.nc.pieces "$folder/left" || fail "$(cat "$folder/left")"
    fi
    for step in 0 1; do
        file=$folder/$method/run_00000$step.nc
        [ -f "$file" ] || fail "step $step is missing"
        cmp -s "$file" "$folder/root/run_00000$step.nc" || fail "step $step differs from that of root"
    done
    [ ! -e "$folder/$method/run_000002.nc" ] || fail "a step that never ended has a file"
done

# Hidden, a step gets its name in a later call: what has one is whole, and there is no gap.
HAKOBI_ASYNCHRONOUS=1
for method in root pipelined; do
    run "$@" "$killed_run" "$folder/hidden-$method/run" "$method"
    num_steps=0
    for file in "$folder/hidden-$method"/run_*.nc; do
        [ -f "$file" ] || continue
        [ "$(basename "$file")" = "run_00000$num_steps.nc" ] || fail "a gap before $file"
        cmp -s "$file" "$folder/root/run_00000$num_steps.nc" || fail "$file is not whole"
        num_steps=$((num_steps + 1))
    done
    [ "$num_steps" -le 2 ] || fail "a step that never ended has a file"
done
