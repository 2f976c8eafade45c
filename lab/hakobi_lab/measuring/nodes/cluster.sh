#!/bin/sh
# Runs an MPI program on several nodes of one machine:
#
#   cluster.sh openmpi|mpich MPIEXEC NODES RANKS_PER_NODE SHARED_FOLDER [NAME=VALUE …] PROGRAM [ARGUMENT …]
#
# A node has its own network, host name, IPC and mounts, with a /tmp and /dev/shm of its own: ranks of two nodes share
# no memory and reach each other by TCP over a bridge. SHARED_FOLDER is made anew, is the same on all nodes, and is the
# program's TMPDIR; it is removed at the end. Each NAME=VALUE goes into every rank's environment.
#
#  1. Everything happens inside namespaces of our own (this script starts itself anew in them): the bridge, the nodes
#     and their mounts exist there alone, and are gone with our last process, whatever ends us.
#  2. A node is kept by a sleeping process; the launcher starts its daemons there through an agent that takes the
#     place of ssh: it enters the namespaces of the process that keeps the node.
#
# HAKOBI_CLUSTER_LINES="1-2 1-3" gives the nodes of each line, in addition, a link of their own to a bridge of the line;
# Open MPI's messages then take these links alone. HAKOBI_CLUSTER_RATE shapes the links both ways (as tc takes it: 200mbit).
# HAKOBI_CLUSTER_KEEP=1: SHARED_FOLDER is there, and stays with what is in it.
#
# HAKOBI_NODES_PRELOAD names a library that MPICH's ranks preload: tests/nodes/mpich_finalize.c says which, and why.
#
# Exit status: the program's; 77 (skipped, with a line that says why) where such namespaces cannot be made.
set -eu

skip() {
    echo "skipped: $1"
    exit 77
}

if [ "${HAKOBI_CLUSTER_INSIDE:-}" = "" ]; then
    [ "$(id -u)" = 0 ] || skip "network namespaces are root's to make"
    for tool in ip unshare nsenter setpriv mount hostname ${HAKOBI_CLUSTER_RATE:+tc}; do
        command -v "$tool" > /dev/null || skip "there is no '$tool'"
    done
    unshare --net --uts --ipc --mount --pid --fork sh -c 'ip link add name b0 type bridge' 2> /dev/null ||
        skip "this system lets us make no namespaces or no bridge in them"
    # unshare takes no SIGTERM while its child runs, so this shell stays in front of it: a signal ends the namespaces at
    # once, and setpriv ends them where this shell is killed.
    namespaces="unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc"
    # shellcheck disable=SC2086 # one word an option
    HAKOBI_CLUSTER_INSIDE=1 setpriv --pdeathsig KILL $namespaces sh "$0" "$@" &
    trap 'kill -KILL $! 2> /dev/null; wait; exit 143' INT TERM HUP
    status=0
    wait $! || status=$?
    exit $status
fi
unset HAKOBI_CLUSTER_INSIDE

flavour=$1 mpiexec=$2 num_nodes=$3 ranks_per_node=$4 shared=$5
shift 5

# Mounts that only this namespace sees: a place for our files that no node's mount hides, and the names of the nodes.
mount -t tmpfs -o mode=755 cluster /mnt
if [ "${HAKOBI_CLUSTER_KEEP:-}" = "" ]; then
    rm -rf "$shared"
    trap 'rm -rf "$shared"' EXIT
fi
mkdir -p "$shared" /mnt/shared /mnt/programs
mount --bind "$shared" /mnt/shared
hostname head
{
    echo "127.0.0.1 localhost"
    echo "10.77.0.254 head"
    for i in $(seq "$num_nodes"); do echo "10.77.0.$i n$i"; done
} > /mnt/hosts
mount --bind /mnt/hosts /etc/hosts

ip link set lo up
ip link add name bridge0 type bridge
ip addr add 10.77.0.254/24 dev bridge0
ip link set bridge0 up

# A build or an MPI library below /tmp must stay visible where /tmp is the node's own.
program_folder=
for word in "$@"; do
    case $word in *=*) ;; *) program_folder=$(dirname "$word") && break ;; esac
done
case $program_folder in ?*/bin) program_folder=${program_folder%/bin} ;; esac # with the libraries beside it
mount --bind "$program_folder" /mnt/programs
mpi_folder=$(dirname "$(dirname "$(command -v "$mpiexec")")")
mkdir -p /mnt/mpi
mount --bind "$mpi_folder" /mnt/mpi
preload=
if [ "${HAKOBI_NODES_PRELOAD:-}" != "" ]; then
    cp "$HAKOBI_NODES_PRELOAD" /mnt/preloaded.so
    preload="-genv LD_PRELOAD /mnt/preloaded.so"
fi

cat > /mnt/node.sh << 'END'
hostname "$1"
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
[ -d "$3" ] || { mkdir -p "$3" && mount --bind /mnt/programs "$3"; }
[ -d "$4" ] || { mkdir -p "$4" && mount --bind /mnt/mpi "$4"; }
[ -d "$2" ] || { mkdir -p "$2" && mount --bind /mnt/shared "$2"; }
ip link set lo up
# BBR, the default of some machines, leaves a shaped link idle for moments, and fills it by what it estimates.
echo reno > /proc/sys/net/ipv4/tcp_congestion_control 2> /dev/null || true
echo ready > "/mnt/$1.ready"
exec sleep infinity
END
for i in $(seq "$num_nodes"); do
    unshare --net --uts --ipc --mount sh -eu /mnt/node.sh "n$i" "$shared" "$program_folder" "$mpi_folder" &
    echo $! > "/mnt/n$i.pid"
done
for i in $(seq "$num_nodes"); do
    tries=0
    until [ -e "/mnt/n$i.ready" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { echo "node n$i did not come up" >&2 && exit 1; }
        sleep 0.05
    done
    node=$(cat "/mnt/n$i.pid")
    ip link add "port$i" type veth peer name eth0 netns "$node"
    ip link set "port$i" master bridge0 up
    nsenter -t "$node" --net ip addr add "10.77.0.$i/24" dev eth0
    nsenter -t "$node" --net ip link set eth0 up
done

# Lines: line N is bridge lineN, its nodes' interfaces lineN with addresses 10.78.N.NODE.
message_network="--mca btl_tcp_if_include 10.77.0.0/24"
[ "${HAKOBI_CLUSTER_LINES:-}" = "" ] || message_network="--mca btl_tcp_if_exclude 10.77.0.0/24,127.0.0.0/8"
line=0
for nodes_of_line in ${HAKOBI_CLUSTER_LINES:-}; do
    line=$((line + 1))
    ip link add name "line$line" type bridge
    ip link set "line$line" up
    for i in $(echo "$nodes_of_line" | tr - ' '); do
        node=$(cat "/mnt/n$i.pid")
        ip link add "l$line-$i" type veth peer name "line$line" netns "$node"
        ip link set "l$line-$i" master "line$line" up
        nsenter -t "$node" --net ip addr add "10.78.$line.$i/24" dev "line$line"
        nsenter -t "$node" --net ip link set "line$line" up
        [ "${HAKOBI_CLUSTER_RATE:-}" != "" ] || continue
        shape="root tbf rate $HAKOBI_CLUSTER_RATE burst 64kb latency 20ms"
        # shellcheck disable=SC2086 # one word an option
        tc qdisc add dev "l$line-$i" $shape && nsenter -t "$node" --net tc qdisc add dev "line$line" $shape
    done
done

# In place of ssh: AGENT HOST COMMAND….
cat > /mnt/agent << 'END'
#!/bin/sh
host=$1
shift
exec nsenter -t "$(cat "/mnt/$host.pid")" --net --uts --ipc --mount -- sh -c "$*"
END
chmod +x /mnt/agent

hosts=
for i in $(seq "$num_nodes"); do hosts=$hosts${hosts:+,}n$i:$ranks_per_node; done
num_ranks=$((num_nodes * ranks_per_node))
# Open MPI 4 starts daemons by OpenRTE, Open MPI 5 by PRRTE, whose parameters have other names.
launcher="--mca plm rsh --mca plm_rsh_agent /mnt/agent --mca plm_rsh_no_tree_spawn 1 --mca orte_tmpdir_base /tmp"
case $("$mpiexec" --version 2> /dev/null | head -n 1) in
    *OpenRTE*) ;;
    *) launcher="--prtemca plm ssh --prtemca plm_ssh_agent /mnt/agent --prtemca plm_ssh_no_tree_spawn 1"
       launcher="$launcher --prtemca prte_tmpdir_base /tmp" ;;
esac
run() {
    if [ "$flavour" = openmpi ]; then
        variables="-x TMPDIR=$shared"
        while case ${1:-} in *=*) true ;; *) false ;; esac do
            variables="$variables -x $1"
            shift
        done
        # shellcheck disable=SC2086 # one word an option
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$mpiexec" --oversubscribe --bind-to none \
            --mca mpi_yield_when_idle 1 $launcher --mca oob_tcp_if_include 10.77.0.0/24 --mca btl tcp,self \
            $message_network --mca pml ob1 --host "$hosts" $variables -n "$num_ranks" "$@"
    else
        while case ${1:-} in *=*) true ;; *) false ;; esac do
            export "${1?}"
            shift
        done
        # shellcheck disable=SC2086 # one word an option
        UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 FI_PROVIDER=tcp "$mpiexec" -launcher rsh -launcher-exec /mnt/agent \
            -iface bridge0 -hosts "$hosts" $preload -n "$num_ranks" "$@"
    fi
}

names=$(run hostname | sort | uniq -c | tr -s ' \n' ' ')
wanted=
for i in $(seq "$num_nodes"); do wanted="$wanted $ranks_per_node n$i"; done
[ "$names" = "$wanted " ] || { echo "ranks run on '$names', not on '$wanted '" >&2 && exit 1; }
export TMPDIR="$shared"
run "$@"
