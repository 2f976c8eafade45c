#!/bin/sh
# Runs an MPI program with each rank in a container of its own, as far as processes and memory go:
#
#   containers.sh openmpi|mpich MPIEXEC RANKS SHARED_FOLDER [NAME=VALUE …] PROGRAM [ARGUMENT …]
#
# A rank has its own process ids (each is number 1), /proc, System V memory and /dev/shm: the host's name and network are
# common, so that MPI takes the ranks for one node, and they reach each other by TCP. SHARED_FOLDER is made anew, is the
# program's TMPDIR, and is removed at the end. Each NAME=VALUE goes into every rank's environment.
#
# Exit status: the program's; 77 (skipped, with a line that says why) where such namespaces cannot be made.
set -eu

flavour=$1 mpiexec=$2 num_ranks=$3 shared=$4
shift 4

container='mount -t proc proc /proc && mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"'
contained() {
    unshare --mount --pid --ipc --fork --kill-child sh -c "$container" sh "$@"
}
if [ "$(id -u)" != 0 ] || ! contained true 2> /dev/null; then
    echo "skipped: this system lets us make no process-id and mount namespaces"
    exit 77
fi

rm -rf "$shared"
mkdir -p "$shared"
trap 'rm -rf "$shared"' EXIT
export TMPDIR="$shared"
while case ${1:-} in *=*) true ;; *) false ;; esac do
    export "${1?}"
    shift
done
set -- unshare --mount --pid --ipc --fork --kill-child sh -c "$container" sh "$@"
if [ "$flavour" = openmpi ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$mpiexec" --oversubscribe --bind-to none \
        --mca mpi_yield_when_idle 1 --mca btl tcp,self --mca pml ob1 -n "$num_ranks" "$@"
else
    # Its own start looks for the shared memory of a node by name, and would end where that is each rank's own.
    MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self FI_PROVIDER=tcp "$mpiexec" -n "$num_ranks" "$@"
fi
