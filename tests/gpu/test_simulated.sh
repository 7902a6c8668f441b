#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh from end to end with real CUDA programs of nvcc, over the mocks of the driver, the runtime and CUPTI: every
# program is compared with its trace, every figure that is asked for is a row, the raw buffers are CUPTI's, and
# kernels that CUPTI dropped are found. Speed affects only the figures here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/simulated.sh"

code=0
run() {
    code=0
    TRACESMITH_GPU_SEARCH=$work/cuda LD_LIBRARY_PATH=$work/cuda/lib64:$real/lib64 "$here/run.sh" --programs "$work/pack" \
        --built "$TRACESMITH_BUILD_DIR" --out "$work/results" "$@" >"$work/out" 2>&1 || code=$?
}
results=$work/results/results.md
run
! grep -q 'symbol lookup error\|version .* not found' "$work/out" || skip "the programs need another CUDA runtime"
for name in $programs matrix-stacks matrix-latency matrix-samples; do
    grep -q "^$name: as the program counted" "$work/out" || fail "$name was not compared"
done
if grep -q '^NOT TRUE: ' "$work/out"; then expected=1; else expected=0; fi
[ "$code" -eq "$expected" ] || fail "the exit code is $code"
figure() { # WHAT ASKED
    grep -q "^| $1[^|]*|[^|]*| $2 | \(yes\|no\|not measured\) |\$" "$results" || fail "no row of $1"
}
figure '10,000 kernels with stacks: ' '280,371, or 90 %'
figure 'added by us beyond CUPTI.s own' 'at most 200'
figure 'a PyTorch training step' 'ours adds at most half of what Kineto adds'
figure '1 M launches: kernels in the trace, lost' 'all, 0'
figure 'agreement with CUDA events' 'within 1 us'
figure "CUPTI's clock from CLOCK_REALTIME" 'within 1 ms, or the trace compares anew'
grep -q '^# On a GPU (simulated)$' "$results" || fail "the results do not say that they are simulated"
for moment in before-cuInit injection context kernel exit; do
    grep -q "^| $moment (.*) | -*[0-9]* | -*[0-9]* | 0 |\$" "$results" || fail "no clock at the moment $moment"
done
grep -q '^| CUPTI in .*/cupti/libcupti.so.12 | does not work with this driver: cupti_only: libcupti has no ' "$results" ||
    fail "a CUPTI that does not work is not said"
grep -q '^| CUPTI 130001 | works: .*/cuda/lib64/libcupti.so' "$results" || fail "another CUPTI was not taken"
for question in parameter-sizes fixed-address checkpoint; do
    grep -q "^| $question | not-there | the driver has no " "$results" || fail "no answer: $question"
done
grep -q '^| module-images of vector_add | no | 1 modules, 0 of them ELF' "$results" || fail "no answer: module images"
# The same questions to a driver that can do all of it, and to one that has the functions and cannot.
"${CC:-cc}" -w -shared -fPIC -Wl,--no-as-needed -o "$work/libcuda-replay.so" "$here/mock_replay.c" "$mocks/libcuda.so.1"
probe() { # WHAT PATTERN
    LD_LIBRARY_PATH=$mocks CUDA_DRIVER_LIBRARY=$work/libcuda-replay.so "$work/pack/programs/replay_probe" "$1" >"$work/out" 2>&1 ||
        fail "replay_probe $1 failed"
    grep -q "^probe $2" "$work/out" || fail "replay_probe $1 does not say: $2"
}
probe parameters 'parameter-sizes yes 0+8 8+8 16+4 24+24 48+1$'
probe addresses 'fixed-address-low yes wanted 0x153940000000 got 0x153940000000 result 0 usable 1$'
probe checkpoint 'checkpoint yes lock 0 checkpoint 0 restore 0 unlock 0; .* memory kept$'
export MOCK_REPLAY=wrong
probe parameters 'parameter-sizes no 0+4 '
probe addresses 'fixed-address-low no wanted 0x153940000000 got 0x[0-9a-f]* result 0 usable 1$'
probe checkpoint 'checkpoint no lock 0 checkpoint 0 restore 801 unlock -1; .* memory unknown$'
unset MOCK_REPLAY
# Of a killed program no more is in the trace than was launched, and the ledger counts what is not.
awk -F'|' '/^\| [0-9]* launches, then / { split($3, counts, "; "); rows++; if (counts[1] > $2 + 0 || counts[1] + counts[2] < $2 + 0) exit 1 }
    END { exit rows != 9 }' "$results" ||
    fail "killed programs"
# The mock's values: 100 us from one sample to the next, metric 0 below 100 and metric 1 between 1000 and 1099.
grep -q '^| PM sampling by CUPTI alone.* [1-9][0-9]* 100000 [0-9]* [0-9]* sm__cycles_active.avg=[0-9]\{1,2\} gpc__cycles_elapsed.max=10[0-9]\{2\}; DOUBLE100 | some | yes |$' \
    "$results" || fail "PM sampling: $(grep 'PM sampling' "$results")"
# The mock has eleven metrics; their values are 0 to 99 plus 1000 for each metric before.
grep -q '^| launches-metrics | as the program counted |$' "$results" || fail "launches with GPU metrics were not compared"
awk -F'|' '/^\| GPU metrics during launches, / { split($3, counts, /[,;] /); good = counts[1] > 0 && counts[1] % 11 == 0 &&
    counts[2] == 11 && counts[3] > 0 && counts[4] == 0 && $5 ~ /yes/ } END { exit !good }' "$results" ||
    fail "GPU metrics: $(grep 'GPU metrics' "$results")"
grep -q '^| GPU metrics: highest of each | .* 10099.0;' "$results" || fail "GPU metrics: $(grep 'GPU metrics: highest' "$results")"
# NVIDIA's own library makes the configuration of Hopper's metrics without a GPU.
if [ -e "$real/lib64/libnvperf_host.so" ]; then
    CUPTI_LIBRARY=$real/lib64/libcupti.so.13 LD_LIBRARY_PATH=$real/lib64 "$work/pack/programs/pm_sampling" GH100 >"$work/out" 2>&1 ||
        fail "the metrics of PM sampling are wrong"
    grep -q '^pm passes 1 of [1-9]' "$work/out" || fail "the metrics of PM sampling need more than one pass"
fi
# What is not met stands above the tables.
missed=$(grep -c '| no |$' "$results" || true)
[ "$(grep -c '^\*\*Not met: ' "$results" || true)" -eq "$missed" ] || fail "what is not met is not said"

tar -xzf "$work/results/raw.tar.gz" -C "$work"
for name in vector_add streams; do
    python3 - "$work/cupti-$name.bin" "$work/$name.txt" <<'PY' || fail "the raw buffers of $name"
import struct
import sys
# "TSCUPTI1", version, then buffers with their lengths, each begins with the kind of its first record; and their kernels' names.
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"TSCUPTI1" and struct.unpack_from("<I", data, 8)[0] >= 13
at, buffers, names = 12, 0, set()
while at < len(data):
    size, kind = struct.unpack_from("<QI", data, at)
    assert 0 < kind < 100 and size % 8 == 0, (size, kind)
    buffer = data[at + 8:at + 8 + size]
    at, buffers = at + 8 + size, buffers + 1
    count, at = struct.unpack_from("<I", data, at)[0], at + 4
    for _ in range(count):
        pointer, length = struct.unpack_from("<QI", data, at)
        assert struct.pack("<Q", pointer) in buffer, "a name of no kernel"
        names.add(data[at + 12:at + 12 + length].decode())
        at += 12 + length
assert at == len(data) and buffers
said = {line.split()[1] for line in open(sys.argv[2]) if line.startswith("kernel ")}
assert said and {name.split("(")[0] for name in names} == said, (names, said)
PY
    # Played to the agent again, whenever that is, they are the same commands.
    LD_LIBRARY_PATH=$mocks MOCK_PLAY=$work/cupti-$name.bin "$TRACESMITH" profile --api cuda -o "$work/played.sbt" -- \
        python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.1").cuInit(0)' >"$work/out" 2>&1 || fail "$name cannot be played"
    ! grep 'the mock: ' "$work/out" || fail "$name is not played"
    while read -r what first second third; do
        case $what in
        kernel) sql="count(*) FROM kernel WHERE name = '$first' OR name LIKE '$first(%'" wanted=$second ;;
        memcpy) sql="count(*) || ' ' || sum(bytes) FROM memcpy WHERE direction = '$first'" wanted="$second $third" ;;
        *) continue ;;
        esac
        found=$("$TRACESMITH" query --csv "$work/played.sbt" "SELECT $sql" | tail -n 1 | tr -d '"\r')
        [ "$found" = "$wanted" ] || fail "$name: $what $first: $found played, $wanted recorded"
    done <"$work/$name.txt"
done

# Every seventh record is dropped, which CUPTI counts; and the GPU's counters are forbidden.
export MOCK_CUPTI=drop=7,pcdenied=35,pmdenied=35
run facts samples metrics
[ "$code" -eq 1 ] || fail "with dropped records the exit code is $code"
grep -q '^| vector_add | NOT TRUE: vector_add: kernel vector_add: the trace has .*, the program .100' "$results" ||
    fail "dropped kernels are not found"
grep -q '^\*\*[0-9]* facts are not true' "$results" || fail "the conclusion does not say it"
grep -q "^| the GPU's counters | not allowed: .*ERR_NVGPUCTRPERM" "$results" || fail "that counters are forbidden is not said"
grep -q '^| GPU metrics | .*ERR_NVGPUCTRPERM' "$results" || fail "that GPU metrics are forbidden is not said: $(grep 'GPU metrics' "$work/out")"
grep -q '^| GPU metrics during launches, .* | not measured |$' "$results" || fail "GPU metrics that are forbidden count as measured"
grep -q '^| PC samples of matrix: .* | not measured |$' "$results" || fail "samples that are forbidden count as measured"
