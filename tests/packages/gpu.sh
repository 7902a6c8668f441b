#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The folder for the first run on a GPU (tests/gpu/pack.sh): it is built in a Debian 11 and checks itself, and its script, where there is no
# GPU, says so, or that its results are simulated. It is not published.
. "$(dirname "$0")/lib.sh"
command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" >/dev/null || skip "no CUDA toolkit in ${CUDA_HOME:-/usr/local/cuda}"
[ ! -e /dev/nvidiactl ] || skip "this machine has a GPU: run tests/gpu/pack.sh and its run.sh"
code=0
"$root/tests/gpu/pack.sh" "$work/pack" >"$work/log" 2>&1 || code=$?
[ "$code" -ne 4 ] || skip "$(tail -n 1 "$work/log")"
[ "$code" -eq 0 ] || fail "pack.sh ends with $code: $(tail -n 20 "$work/log")"
tail -n 1 "$work/log"
code=0
sh "$work/pack/run.sh" --out "$work/results" >"$work/log" 2>&1 || code=$?
# It looks for drivers on the whole machine. Where the tests are built it finds their mocks, and measures these.
case $code in
77) said='programs cannot use a GPU here' ;;
0) said=simulated ;;
*) fail "run.sh ends with $code where there is no GPU: $(tail -n 20 "$work/log")" ;;
esac
grep -q "$said" "$work/results/results.md" || fail "run.sh ends with $code, and results.md does not say: $said"
echo "gpu: built, checked, and run without a GPU: $said"
