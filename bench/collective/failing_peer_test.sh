#!/bin/sh
# failing_peer_test.sh BENCH LIBRARY MPIEXEC…: where the MPI library's write fails on one rank the benchmark ends on all
# of them, says why, and leaves no file behind.
set -eu
bench=$1
library=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if "$@" env LD_PRELOAD="$library" "$bench" --dir "$folder" --size 1M --operation write --budget 0.1 --compare mpi-io \
    >/dev/null 2>"$folder/said"; then
    echo "it ended well"
    exit 1
fi
grep 'hakobi-bench-collective: MPI_File_write_all: ' "$folder/said" || { cat "$folder/said"; exit 1; }
if [ "$(ls "$folder")" != said ]; then
    ls -l "$folder"
    exit 1
fi
