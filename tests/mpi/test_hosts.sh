#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Eight ranks of an MPI program with OpenCL on four hosts, which are network namespaces with names of their own: two commands name the slow
# rank, and of another program the slow link. tracesmith-mpi on the four hosts gives the same answer, and refuses to listen where it was not told to. With shifted clocks, messages alone relate the hosts.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"
program=${TRACESMITH%/*}/tracesmith-mpi
mpi=openmpi
case $mpis in *openmpi*) ;; *) skip "no Open MPI" ;; esac
command -v ip >/dev/null || skip "no ip (iproute2)"
prefix=ts$$
for host in hub 0 1 2 3; do
    ip netns add "$prefix-$host" 2>"$work/err" || skip "no network namespaces here: $(tail -n 1 "$work/err")"
    trap 'for host in hub 0 1 2 3; do ip netns delete "$prefix-$host" 2>/dev/null || :; done; rm -rf "$work"' EXIT
done
at() {
    space=$prefix-$1
    shift
    ip netns exec "$space" "$@"
}
at hub ip link add bridge type bridge 2>"$work/err" || skip "no bridge here: $(tail -n 1 "$work/err")"
at hub ip link set bridge up
for host in 0 1 2 3; do
    at hub ip link add "p$host" type veth peer name net netns "$prefix-$host" 2>"$work/err" ||
        skip "no veth here: $(tail -n 1 "$work/err")"
    at hub ip link set "p$host" master bridge
    at hub ip link set "p$host" up
    at "$host" ip link set lo up
    at "$host" ip address add "10.77.0.1$host/24" dev net
    at "$host" ip link set net up
done

mpi_compile -o "$work/slow" "$here/slow_rank.c" -lOpenCL 2>"$work/err" || skip "no OpenCL: $(tail -n 1 "$work/err")"
# Instead of ssh: HOST COMMAND...
cat >"$work/agent" <<E2
#!/bin/sh
host=\${1##*.1}
shift
exec ip netns exec "$prefix-\$host" unshare -u sh -c "hostname host\$host && \$*"
E2
chmod +x "$work/agent"
hosts=10.77.0.10:2,10.77.0.11:2,10.77.0.12:2,10.77.0.13:2
# on_hosts COMMAND...: eight ranks, two on each host.
on_hosts() {
    # shellcheck disable=SC2016 # the inner shell expands it
    at 0 unshare -u sh -c 'hostname host0 && exec "$@"' sh timeout -k 5 200 mpirun.openmpi -n 8 --host "$hosts" \
        --mca plm_rsh_agent "$work/agent" --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 "$@"
}
status=0
on_hosts "$work/slow" 5 >"$work/alone" 2>"$work/err" || status=$?
[ "$status" != 77 ] || skip "no OpenCL device"
[ "$status" = 0 ] || skip "Open MPI starts no ranks in network namespaces here: $(tail -n 1 "$work/err")"

mkdir "$work/traces"
on_hosts "$TRACESMITH" profile -o "$work/traces/run.%r.sbt" -- "$work/slow" 5 >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
cmp "$work/alone" "$work/out" || fail "the program prints something else"
"$TRACESMITH" analyze --ranks "$work"/traces/run.*.sbt >"$work/text" || fail "analyze: $(cat "$work/text")"
grep -q 'Rank 5 costs most' "$work/text" || fail "another rank is said to be slow: $(cat "$work/text")"
grep -q 'clock_bound' "$work/text" || fail "the error of the clocks is not said"
for rank in 0 7; do
    "$TRACESMITH" info "$work/traces/run.$rank.sbt" >"$work/info"
    grep -q "rank $rank of 8" "$work/info" || fail "rank $rank: $(cat "$work/info")"
done
"$TRACESMITH" query "$work/traces/run.5.sbt" --csv "SELECT count(*) FROM kernel" | tr -d "\r" | grep -qx 8 || fail "the kernels of rank 5"

"$TRACESMITH" analyze --ranks --json "$work"/traces/* >"$work/expected.json"
on_hosts "$program" analyze "$work/traces" --network 10.77.0.0/24 --json >"$work/out.json" 2>"$work/err" || fail "$(cat "$work/err")"
cmp "$work/expected.json" "$work/out.json" || fail "tracesmith-mpi gives another answer"
on_hosts "$program" analyze "$work/traces" --json >"$work/out.json" 2>"$work/err" && fail "several hosts, and no --network"
grep -q 'name the one that they may use with --network' "$work/err" || fail "$(cat "$work/err")"
# What the last host sends is slow: the pairs of ranks with one of its ranks and one of another host transfer slowest.
if command -v tc >/dev/null && at 3 tc qdisc replace dev net root tbf rate 10mbit burst 10kb latency 1s 2>"$work/err"; then
    mpi_compile -o "$work/pairs" "$here/pairs.c"
    mkdir "$work/slow_link"
    on_hosts "$TRACESMITH" profile -o "$work/slow_link/run.%r.sbt" -- "$work/pairs" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    at 3 tc qdisc del dev net root
    "$TRACESMITH" analyze --ranks --json "$work"/slow_link/run.*.sbt >"$work/slow_link.json"
    python3 "$here/check_links.py" "$work/slow_link.json" 1,6 5,7 || fail "the slow link: $("$TRACESMITH" analyze --ranks "$work"/slow_link/run.*.sbt)"
else
    echo "no link is slow: no token bucket filter: $(tail -n 1 "$work/err")"
fi
# The clocks of the hosts are shifted by 1000 s from one to the next, and only the messages of the program tell.
if unshare --time --fork --monotonic 1 true 2>"$work/err"; then
    mpi_compile -o "$work/rounds" "$here/rounds.c"
    # shellcheck disable=SC2016 # the agent expands it
    sed 's/unshare -u/unshare -u --time --fork --monotonic "${host}000"/' "$work/agent" >"$work/shifting"
    chmod +x "$work/shifting"
    mv "$work/shifting" "$work/agent"
    mkdir "$work/shifted"
    on_hosts "$TRACESMITH" profile -o "$work/shifted/run.%r.sbt" -- "$work/rounds" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
    "$TRACESMITH" analyze --ranks --json "$work"/shifted/run.*.sbt >"$work/shifted.json"
    python3 "$here/check_offsets.py" "$work/shifted.json" 2 1000
else
    echo "clocks are not shifted: no time namespaces: $(tail -n 1 "$work/err")"
fi
echo "$(wc -l <"$work/text") lines: $(grep 'costs most' "$work/text")"
