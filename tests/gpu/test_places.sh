#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh with a folder like pack.sh's on machines that lack something, over the mocks: a driver that is older than the programs'
# runtime and the pack's CUPTI; a driver that the dynamic linker does not find; nothing in PATH but a system's own tools; a folder for
# temporary files from which nothing can be run; 64 MiB of shared memory; a file system that is read-only; no driver at all.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/simulated.sh"
command -v python3 >/dev/null || skip "no python3"
results=$work/results/results.md

# A driver for CUDA 12: the runtime refuses it, and so does the pack's CUPTI of CUDA 13; the older one that the pack has works.
mkdir "$work/driver" "$work/nothing" "$work/pack/cupti-older"
cp "$mocks/libcuda.so.1" "$work/driver"
# As NVIDIA's runtime: it finds the driver as any program does, and not where it was linked.
python3 -c 'import sys; mocks, to = sys.argv[1:]; data = open(mocks + "/libcudart.so.13", "rb").read()
open(to, "wb").write(data.replace(mocks.encode(), b"/" + b"-" * (len(mocks) - 1)))' "$mocks" "$work/driver/libcudart.so.13"
gzip -c "$mocks/libcupti.so.13" >"$work/pack/cupti-older/libcupti.so.12.gz"
# in_place WRAPPER... -- STAGE...: the exit code is in $code.
in_place() {
    code=0
    wrapper=
    while [ "$1" != -- ]; do
        wrapper="$wrapper $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    env TRACESMITH_GPU_SEARCH="${search:-$work/nothing}" $wrapper sh "$here/run.sh" --programs "$work/pack" --built "$TRACESMITH_BUILD_DIR" \
        --out "$work/results" "$@" >"$work/out" 2>&1 || code=$?
    [ -s "$results" ] || fail "there are no results"
    tail -n 1 "$results" | grep -q '^End of the results, written ' || fail "results.md is not whole"
}
has() { grep -q "$1" "$results" || fail "$2: $(cat "$results")"; }

in_place LD_LIBRARY_PATH="$work/driver" MOCK_DRIVER=12080 MOCK_CUPTI=version=26 -- facts million ends replay
has '^driver for CUDA 12.8 ' "an older driver is not said"
has '^programs with NVIDIA.s runtime do not run with this driver (.*driver version is insufficient' "why programs do not run is not said"
has '^| CUPTI 26 | works: .*/cupti-older/libcupti.so.12: ' "the older CUPTI was not taken"
has '^| launches | as the program counted |' "nothing was recorded of an older driver"
has '^| 1 M launches: kernels in the trace, lost | 1000001 of 1000001, 0 | all, 0 | yes |' "1 M launches with an older driver"
[ "$(grep -c '^| [0-9]* launches, then .* | together all | yes |$' "$results")" -eq 9 ] || fail "killed programs with an older driver"
has '^| matrix | skipped: no GPU: CUDA driver version is insufficient' "programs that cannot run are not said"
! grep -q '^| driver_launches | not there' "$results" || fail "driver_launches was not built"

# The driver is where the dynamic linker does not look; files have lost that they are programs; no python3, nvidia-smi, compiler.
mkdir "$work/tools" "$work/elsewhere"
mv "$work/driver/libcuda.so.1" "$work/elsewhere/"
for tool in awk basename cat chmod cp cut date df dirname env find getconf grep gzip head id ldd ls mkdir mktemp mv nproc od paste readlink rm sed seq sh sleep \
    sort tail tar tee timeout tr uname uniq wc; do
    ln -s "$(command -v $tool)" "$work/tools/$tool"
done
chmod a-x "$work/pack/programs"/[a-z]*
search=$work/elsewhere in_place LD_LIBRARY_PATH="$work/driver" PATH="$work/tools" -- facts torch kineto others
has "^the driver is in $work/elsewhere, which the dynamic linker did not know" "where the driver was found is not said"
has '^| vector_add | as the program counted |' "nothing was recorded with a driver found elsewhere"
has '^| a PyTorch training step | no python3 here | ' "that there is no Python is not said"
has '^| nvidia-smi | ' "that there is no nvidia-smi is not said"
! grep -i 'not found\|no such file' "$work/out" | grep -v 'shared object file' || fail "a tool is missing"

# No driver at all.
in_place LD_LIBRARY_PATH="$work/driver" -- facts
[ "$code" -eq 77 ] || fail "without a driver the code is $code"
has '^\*\*programs cannot use a GPU here: ' "that there is no driver is not said"
has '^| /dev/nvidia\* | ' "what the machine has is not said"
mv "$work/elsewhere/libcuda.so.1" "$work/driver/"

# Places that containers have. Namespaces are not allowed everywhere.
cat >"$work/container" <<'C'
#!/bin/sh
# container WORK COMMAND...: nothing can be run from /tmp, 64 MiB of /dev/shm, all else read-only but for the results
set -eu
work=$1
shift
mount -t tmpfs -o size=64m tmpfs /dev/shm
mount -t tmpfs -o noexec,size=2g tmpfs "$work/tmp"
mount --bind "$work/results" "$work/results"
mount --bind "$HOME" "$HOME"
mount -o remount,bind,ro "$HOME"
exec "$@"
C
chmod +x "$work/container"
mkdir "$work/tmp" "$work/home"
namespaces='unshare --user --map-root-user --mount --propagation private'
# shellcheck disable=SC2086 # words
if HOME=$work/home $namespaces "$work/container" "$work" true 2>"$work/out"; then
    in_place LD_LIBRARY_PATH="$work/driver" TMPDIR="$work/tmp" HOME="$work/home" $namespaces "$work/container" "$work" -- facts
    grep -q '(noexec): work is in ' "$work/out" || fail "that nothing can be run from TMPDIR is not said"
    has '^| room in /dev/shm, KiB | [0-9]* of 65536, tmpfs |' "the room in /dev/shm is not said"
    has '^| vector_add | as the program counted |' "with little shared memory"
    [ "$(find "$work/results" -type f | wc -l)" -eq 3 ] || fail "more than three files come out: $(find "$work/results")"
else
    echo "not tried: places of containers: $(cat "$work/out")"
fi
