#!/bin/sh
# A run that is killed again and again, each time restarted on another number of ranks, leaves the steps of one that was not.
# Usage: restart_test.sh PROGRAM MOST_RANKS LAUNCHER... (the line that starts a program, but for the number of ranks)
set -u
program=$1
most_ranks=$2
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
echo '{"length_km": 250, "width_km": 100, "subfaults": [[142.6, 38.2, 20, 15, 90, 198, 10, 0, 60, 200]]}' >rupture.json
model="--resolution 30 --region 135,162,25,50 --hours 1 --steps-out 120 --state-every 2 --statistics-every 5 --rupture rupture.json
    --json record.jsonl"

fail() {
    echo "FAILED: $*"
    cat log
    ls -R .
    exit 1
}

# run RANKS PREFIX ARGUMENTS...
run() {
    ranks=$1
    prefix=$2
    shift 2
    [ "$ranks" -le "$most_ranks" ] || ranks=$most_ranks
    # shellcheck disable=SC2086
    timeout 60 $launcher "$ranks" "$program" $model --output "$prefix" "$@" >log 2>&1
}

# Whole steps, and pieces that may be.
steps_there() {
    find killed -name 'run_*.nc' -o -name 'run_*.pieces' 2>/dev/null | wc -l
}

# The ranks that write here, not what started them.
ranks_of_run() {
    grep -lF "$work/killed/" /proc/[0-9]*/cmdline 2>/dev/null | while read -r line; do
        pid=${line#/proc/}
        pid=${pid%/cmdline}
        [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$program")" ] && echo "$pid"
    done
}

launcher=$*
run 2 whole/run --method root || fail "the run that is not killed"
[ -f whole/run_000119.nc ] || fail "the run that is not killed has no last step"

seed=${HAKOBI_SEED:-$(date +%s)}
echo "seed $seed (HAKOBI_SEED repeats it)"
kills=0
for ranks_and_method in 1:root 3:pipelined 2:per-process 4:writers; do
    ranks=${ranks_and_method%%:*}
    method=${ranks_and_method#*:}
    before=$(steps_there)
    how=--restart
    [ "$before" -gt 0 ] || how=
    run "$ranks" "$work/killed/run" --method "$method" $how &
    running=$!
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    # A random moment after some new steps, of which the first run must leave one with a state.
    tries=0
    while [ "$(steps_there)" -lt $((before + 4)) ] && [ $tries -lt 400 ] &&
        kill -0 $running 2>/dev/null; do
        sleep 0.02
        tries=$((tries + 1))
    done
    sleep "$(printf 0.%03d $((seed / 65536 % 100)))"
    victims=$(ranks_of_run)
    # shellcheck disable=SC2086
    [ -z "$victims" ] || { kill -KILL $victims 2>/dev/null && kills=$((kills + 1)); }
    wait $running
    # The launcher has said that a rank died; none of them writes any more.
    while [ -n "$(ranks_of_run)" ]; do sleep 0.02; done
done
[ $kills -gt 0 ] || fail "nothing was killed"
run 3 "$work/killed/run" --restart || fail "the last restart"
grep -q ', from .* h on, ' log || fail "the summary does not say where the run was restarted"

[ "$(ls killed)" = "$(ls whole)" ] || fail "other files are left"
[ -f whole/run_statistics_000023.nc ] || fail "there are no statistics"
# The checkpoints take turns, and other turns in a run that was killed.
for file in $(ls whole | grep -v state); do
    file=whole/$file
    cmp "$file" "killed/${file#whole/}" || fail "$file differs"
done
# The last state is not of the last step.
mkdir ended
run 2 ended/run --json ended.jsonl --steps-out 5 --statistics-every 1 || fail "a run of five steps"
run 3 ended/run --json ended.jsonl --steps-out 5 --statistics-every 1 --restart || fail "a run that has ended is not restarted"
grep -q ', from 0.8 h on, ' log || fail "it does not go on from its last state"
same=$(sed 's/.*\("mass_relative_change":[^,]*,"eta_checksum":"[^"]*"\).*/\1/' record.jsonl | sort -u | wc -l)
[ "$same" -eq 1 ] || { cat record.jsonl; fail "the results differ"; }
run 2 whole/run --restart --hours 2 && fail "steps at other times are accepted"
grep -q 'other --hours' log || fail "no word of other times"
run 2 whole/run --replace --state-every 0 --steps-out 2 || fail "a run without states"
run 2 whole/run --restart --steps-out 2 && fail "a series without a state is accepted"
grep -q 'state-every' log || fail "no word of --state-every"
echo "all passed, $kills runs killed"
