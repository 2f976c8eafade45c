#!/bin/sh
# What a killed run leaves: killed_run.sh KILLED_RUN HAKOBI_GATHER LAUNCHER...
# Steps that were ended have their file (per-process: after hakobi-gather), the others have none, whatever the method.
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
for method in root parallel pipelined writers per-process; do
    status=0
    timeout 60 "$@" "$killed_run" "$folder/$method/run" "$method" > "$folder/log" 2>&1 || status=$?
    [ "$status" -ne 0 ] || fail "the run was to be killed"
    [ "$status" -ne 124 ] || fail "the run hangs"
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
