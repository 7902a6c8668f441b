#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tracesmith-mpi: the answer on any number of ranks is that of `tracesmith analyze --ranks`, to the byte. When ranks are killed while
# they read, or a trace kills its reader, the answer is that of the other traces, and it names those that are missing, with the reason.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"
program=${TRACESMITH%/*}/tracesmith-mpi
[ -x "$program" ] || skip "tracesmith-mpi is not built"
cd "$work"
mkdir traces bin
python3 -B "$TRACESMITH_SOURCE_DIR/tests/mpi/make_ranks.py" traces 12
head -c 300 traces/rank11.json >traces/cut.json
echo "no trace" >traces/notes.txt
status=0
"$TRACESMITH" analyze --ranks --json traces/* >expected.json 2>expected.err || status=$?
[ "$status" = 3 ] || fail "a trace is damaged, and the exit code is $status"

# A copy of the program with this command next to it. It kills the process of the rank that starts it, or the rank too, or itself.
cp "$program" bin/tracesmith-mpi
cat >bin/tracesmith <<'C'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
case " $* " in
*" --partial "*)
    case " $KILLED " in
    *" $rank "*) kill -9 "$PPID"; exit 1 ;;
    *" rank$rank "*) kill -9 "$(cut -d " " -f 4 "/proc/$PPID/stat")"; exit 1 ;;
    esac
    case " $* " in *"$POISON"*) kill -9 $$ ;; esac
    ;;
esac
exec "$TRACESMITH" "$@"
C
chmod +x bin/tracesmith
export TRACESMITH

# check_same RANKS: the answer of so many ranks.
check_same() {
    # The launchers exit with the code of a rank.
    status=0
    mpi_run "$1" "$program" analyze traces --json >out.json 2>err || status=$?
    [ "$status" = 3 ] || fail "$mpi, $1 ranks: exit code $status: $(cat err)"
    cmp expected.json out.json || fail "$mpi, $1 ranks: another answer"
}

# check_lost RANKS KILLED POISON [OPTION]: ranks that are killed, and the name of a trace that kills its reader.
check_lost() {
    rm -f out.json
    # shellcheck disable=SC2086 # an option or none
    mpi_run "$1" ${4-} env KILLED="$2" POISON="$3" bin/tracesmith-mpi analyze traces -o out.json --json >err 2>&1 || :
    python3 "$here/check_lost.py" traces "$1" "$2" "$3" out.json || fail "$mpi, $1 ranks without $2: $(cat err)"
}

check_analyze() {
    echo "== $mpi"
    for ranks in 1 2 3 8; do
        check_same "$ranks"
    done
    check_lost 4 3 none     # a leaf
    check_lost 8 4 none     # 0 takes over 5 and 6
    check_lost 8 "4 6" none # and 7, of 6
    check_lost 4 none rank3.json
    # MPICH's launcher ends all ranks if one is killed itself, whatever its options say.
    [ "$mpi" = mpich ] || check_lost 8 rank4 none --enable-recovery
    # The addresses of the loopback interface can be named as any other.
    mpi_run 2 "$program" analyze traces --json --network 127.0.0.0/8 >out.json 2>err || :
    cmp expected.json out.json || fail "$mpi: another answer with --network"
    mpi_run 2 "$program" analyze traces --json --network 240.1.2.0/24 >out.json 2>err && fail "$mpi: no host has 240.1.2.0"
    grep -q "has no address in '240.1.2.0/24'" err || fail "$mpi: $(cat err)"
}
each_mpi check_analyze

"$program" analyze traces --json >out.json 2>err || :
cmp expected.json out.json || fail "without MPI: another answer"
