#!/bin/sh
# Kills runs of the format zarr at random moments, each resuming after the one before: killed_store.sh KILLED_STORE HAKOBI_GATHER NUM
# PLACE LAUNCHER...
# After each all steps are whole, without gaps, and none is lost that was there before or whose end_step had returned. PLACE is a folder, or
# where on an object store a stage's steps go (s3://bucket/kills); "-": a folder of its own.
set -eu
killed_store=$1 gather=$2 num=$3 place=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ways="root:0 pipelined:1 pipelined:0 writers:1 parallel:0 per-process:0" series_kills=$num
case $place in
    -) place=$folder ;;
    *:*) # There each opener asks for all steps again: the series are short.
        ways="root:0 pipelined:1 pipelined:0 writers:1 parallel:0" series_kills=10
        mkdir "$folder/stage"
        export HAKOBI_STAGE="$folder/stage"
        ;;
esac
kills=0 last=0 all=0
fail() {
    echo "killed_store.sh: kill $kills ($method, hidden $hidden): $*" >&2
    cat "$folder/log" >&2
    find "$folder" -type f | sort | tail -40 >&2
    exit 1
}
while [ "$kills" -lt "$num" ]; do
    for way in $ways; do
        [ "$kills" -lt "$num" ] || break
        if [ $((kills % series_kills)) -eq 0 ]; then
            all=$((all + last)) last=0 run=run$kills
        fi
        method=${way%:*} hidden=${way#*:}
        kills=$((kills + 1)) status=0
        timeout 300 "$@" "$killed_store" write "$place/$run" "$folder/$run" "$method" "$hidden" "$kills" > "$folder/log" 2>&1 ||
            status=$?
        [ "$status" -ne 124 ] || fail "the run hangs"
        ! grep -q "terminate called" "$folder/log" || fail "the run failed"
        # Whole pieces become steps; the last step's are not all there, if there are any.
        [ "$method" != per-process ] || "$gather" "$folder" >> "$folder/log" 2>&1 || true
        now=$("$killed_store" check "$place/$run" "$folder/$run" 2>> "$folder/log") || fail "$now"
        [ "$now" -ge "$last" ] || fail "$last steps were whole before, $now are"
        last=$now
    done
done
all=$((all + last))
echo "$kills kills, $all steps, all whole"
[ "$all" -gt 0 ] || fail "no run lived long enough to write a step"
