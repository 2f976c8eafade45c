#!/bin/sh
# Files and store hold the same fields bit for bit, with any number of ranks and threads, any stride and any settings of
# the store; bad input gets one line that begins with the program's name and exit status 2.
# Usage: cli_test.sh WEATHER HAKOBI-STORE LAUNCHER... (the line that starts 3 ranks)
program=$1
store=$2
shift 2
launcher=$*
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
quick="--resolution T63 --levels 3 --pressure-levels 4 --grid-pressure-levels 2 --hours 2"
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# shellcheck disable=SC2086
"$program" $quick --output files:alone/f >alone.txt || fail "files on one rank"
# shellcheck disable=SC2086
$launcher "$program" $quick --output files:several/f >several.txt || fail "files on several ranks"
for file in alone/*; do
    cmp "$file" "several/$(basename "$file")" || fail "$file differs with the number of ranks"
done
[ "$(find alone -name '*.grib2' | wc -l)" -eq 4 ] || fail "one grid-point and one spectral file a step"
grep -q 'forecast days per day' alone.txt || fail "no speed"
cat alone/*.grib2 >files.grib2
# A build without OpenMP has one thread a rank and says so.
threads='--threads 2'
if "$program" --resolution T63 --levels 1 --hours 1 $threads >out.txt 2>&1; then
    grep -q '1 ranks x 2 threads' out.txt || fail "threads are not said"
else
    grep -q 'no OpenMP' out.txt || fail "--threads 2: $(cat out.txt)"
    threads=
fi
for stride in 1 2; do
    settings=
    [ $stride -eq 2 ] && settings="$threads --pad-bytes 4096 --direct --io-threads 1 --buffers 2 --buffer-mib 1 --no-directory-sync"
    # shellcheck disable=SC2086
    $launcher "$program" $quick --output store:stride$stride --writer-stride $stride $settings >store.txt ||
        fail "store, stride $stride $settings"
    # The store gives the fields in its own order: sorted, both are the same.
    "$store" get stride$stride --output store$stride.grib2 >/dev/null 2>err.txt || fail "retrieve: $(cat err.txt)"
    if command -v grib_copy >/dev/null; then
        for from in files store$stride; do
            mkdir -p split/$from
            grib_copy "$from.grib2" "split/$from/[step]_[levtype]_[level]_[paramId]"
        done
        diff -r split/files split/store$stride || fail "fields differ, stride $stride"
        for file in split/files/*; do
            grib_compare "$file" "split/store$stride/$(basename "$file")" || fail "grib_compare finds a difference in $file"
        done
    fi
done

# expect TEXT ARGUMENTS...: TEXT is part of the one line.
expect() {
    text=$1
    shift
    # shellcheck disable=SC2086
    $launcher "$program" $quick "$@" >stdout 2>stderr
    got=$?
    if [ "$got" -ne 2 ] || [ "$(grep -c '^hakobi-weather: ' stderr)" -ne 1 ] || ! grep -q -e "$text" stderr; then
        fail "$* : status $got, or not one line with \"$text\":"
        cat stdout stderr
    fi
}
expect 'T160' --resolution T160
expect 'files:PREFIX' --output file:out/f
expect 'path is missing' --output store
expect 'divisor' --time-step 7
expect 'none.grib2' --start none.grib2
echo 'no GRIB' >text.grib2
expect 'text.grib2' --start text.grib2
head -c 30000 alone/f_gg_000001.grib2 >cut.grib2
expect 'cut.grib2' --start cut.grib2
expect 'simple and ccsds' --packing zip
expect 'threads' --threads 0
expect 'pad-bytes' --pad-bytes -1
expect 'unknwon' --unknwon
[ "$failures" -eq 0 ] && echo "all passed"
exit "$failures"
