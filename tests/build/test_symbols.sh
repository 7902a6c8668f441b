#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library exports tsmith_* with a version and nothing else, and everything its headers declare. An agent exports
# only what its loader looks for, and needs nothing but libc: whatever else it brought into a stranger's process
# could meet the stranger's own. Each has the note by which their channels meet (src/wire/meeting.h).
set -eu
: "${TRACESMITH_BUILD_DIR:?}"
TRACESMITH_SOURCE_DIR=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "$*"
    failures=$((failures + 1))
}

# exports FILE: the names it defines for others, without their versions; version nodes themselves left out.
exports() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

library=$TRACESMITH_BUILD_DIR/lib/libtracesmith.so.0
exports "$library" >"$work/exported"
for meets in "$library" "$TRACESMITH_BUILD_DIR"/lib/tracesmith/libtracesmith-cuda.so "$TRACESMITH_BUILD_DIR"/lib/tracesmith/libtracesmith-nvtx.so; do
    readelf -Wn "$meets" | grep -q '^ *TraceSmith  *0x00000008' || fail "${meets##*/} has no note of its meeting point"
done
[ -s "$work/exported" ] || fail "libtracesmith.so.0 exports nothing"
if grep -v '^tsmith_' "$work/exported"; then
    fail "libtracesmith.so.0 exports the names above, which are not tsmith_*"
fi
if nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@?TRACESMITH_/' | grep .; then
    fail "the symbols above have no version"
fi
# Every function of symbols.txt is exported with the version it has there, as the default or as an older version.
published=$TRACESMITH_SOURCE_DIR/tests/build/symbols.txt
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@?/, " ", $3); print $3 }' |
    LC_ALL=C sort >"$work/versions"
if [ "${1-}" = --update ]; then
    { echo "# SPDX-License-Identifier: Apache-2.0" && cat "$work/versions"; } >"$published"
fi
# changed FILE: the functions of symbols.txt that FILE does not have with the same version.
changed() {
    grep -v '^#' "$published" | LC_ALL=C sort | LC_ALL=C comm -23 - "$1"
}
changed "$work/versions" >"$work/changed"
if [ -s "$work/changed" ]; then
    cat "$work/changed"
    fail "the functions above are not exported with the version above: programs that were linked before do not start"
fi
new=$(grep -v '^#' "$published" | LC_ALL=C sort | LC_ALL=C comm -13 - "$work/versions" | wc -l)
[ "$new" -eq 0 ] || echo "$new functions are new: test_symbols.sh --update adds them to symbols.txt"
# The check sees a function that moved to another version and one that is gone.
grep -v '^#' "$published" | LC_ALL=C sort >"$work/listed"
sed '1s/ TRACESMITH_.*/ TRACESMITH_9/' "$work/listed" >"$work/moved"
[ "$(changed "$work/moved" | wc -l)" -eq 1 ] || fail "a changed version is not seen"
sed 1d "$work/listed" >"$work/gone"
[ "$(changed "$work/gone" | wc -l)" -eq 1 ] || fail "a function that is gone is not seen"

readelf -d "$library" | grep -q 'SONAME.*\[libtracesmith\.so\.0\]' || fail "the SONAME is not libtracesmith.so.0"

# What the headers promise: in the preprocessed headers (some declarations come from macros), the name before the
# first parenthesis after TSMITH_API's attribute.
for header in "$TRACESMITH_SOURCE_DIR"/include/tracesmith/*.h; do
    echo "#include <tracesmith/${header##*/}>"
done | "${CC:-cc}" -E -P -I"$TRACESMITH_SOURCE_DIR/include" -x c - | tr '\n' ' ' |
    sed 's/__attribute__((visibility("default")))/\n&/g' |
    sed -n 's/^__attribute__((visibility("default")))[^(;]*[^a-z0-9_]\(tsmith_[a-z0-9_]*\) *(.*/\1/p' |
    sort -u >"$work/declared"
[ -s "$work/declared" ] || fail "no TSMITH_API declaration was found"
comm -23 "$work/declared" "$work/exported" >"$work/missing"
if [ -s "$work/missing" ]; then
    cat "$work/missing"
    fail "the headers declare the functions above, the library has none"
fi
comm -13 "$work/declared" "$work/exported" >"$work/secret"
if [ -s "$work/secret" ]; then
    cat "$work/secret"
    fail "the library exports the functions above, no header declares them"
fi

for agent in "$TRACESMITH_BUILD_DIR"/lib/tracesmith/*.so; do
    [ -f "$agent" ] || continue
    case ${agent##*/} in
    libtracesmith-opencl*.so) entry='cl[A-Z][A-Za-z0-9]*|tracesmith_agent_devices|tracesmith_agent_late|tracesmith_opencl_correlation|tracesmith_opencl_asks' ;;
    libtracesmith-nccl.so) entry='ncclProfiler_v[1-6]' ;;
    libtracesmith-rocm.so) entry='rocprofiler_configure|tracesmith_agent_(devices|switched)' ;;
    libtracesmith-openmp.so) entry='ompt_start_tool' ;;
    libtracesmith-openacc.so) entry='acc_register_library' ;;
    libtracesmith-sycl.so) entry='xptiTrace(Init|Finish)' ;;
    libtracesmith-mpi.so) entry='P?MPI_[A-Z][a-z_]*(_c)?|tracesmith_agent_devices' ;;
    libtracesmith-level-zero.so) entry='zeInit(Drivers)?|tracesmith_agent_devices' ;;
    libtracesmith-vulkan*.so) entry='vkNegotiateLoaderLayerInterfaceVersion|tracesmith_agent_devices|tracesmith_vulkan_correlation' ;;
    libtracesmith-cuda.so | libtracesmith-musa.so) entry='InitializeInjection|tracesmith_agent_(late|switched)' ;;
    libtracesmith-cann.so) entry='dlopen|__libc_start_main' ;;
    libtracesmith-maca.so) entry='InitializeInjection|tracesmith_agent_(late|switched)|dlopen|__libc_start_main' ;;
    libtracesmith-nvml.so) entry='tracesmith_agent_(devices|links|sample)' ;;
    libtracesmith-nvtx.so) entry='InitializeInjectionNvtx(2|Extension)|tracesmith_nvtx_watch' ;;

    libtracesmith-attach.so) entry='tracesmith_attach_enter' ;;
    libtracesmith-xray.so) entry='__libc_start_main' ;;
    # Neither is an agent: they are loaded into our own process, and need what they translate.
    libtracesmith-bpf.so) entry='tracesmith_bpf_calls' ;;
    libtracesmith-oclgrind.so) entry='initializePlugins|releasePlugins|tracesmith_oclgrind_attach' ;;
    *)
        fail "${agent##*/}: say in this test what it may export"
        continue
        ;;
    esac
    exports "$agent" >"$work/agent"
    [ -s "$work/agent" ] || fail "${agent##*/} exports nothing: its loader cannot find it"
    if grep -vxE "$entry" "$work/agent"; then
        fail "${agent##*/} exports the names above"
    fi
    if [ -z "${TRACESMITH_SANITIZE-}" ] && [ "${agent##*/}" != libtracesmith-oclgrind.so ] &&
        [ "${agent##*/}" != libtracesmith-bpf.so ] &&
        readelf -d "$agent" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*)$'; then
        fail "${agent##*/} needs the libraries above"
    fi
done
[ "$failures" -eq 0 ]
