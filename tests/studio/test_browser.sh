#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `tracesmith studio` in a real browser: every panel (check_views.py), what is drawn against SQL (check_pixels.py), keys
# and links (check_keys.py), a replay (check_replay.py), ranks and two sides compared (check_compare.py). On a recording, on one with losses, on names that want to be markup, and on real traces
# (TRACESMITH_CORPUS). The long form draws 1,000 parts of traces (TRACESMITH_SOAK).
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
. "$here/../support/python.sh"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

[ -x "$TRACESMITH_BUILD_DIR/libexec/tracesmith/tracesmith-studio" ] || {
    echo "skipped: tracesmith-studio is not built (libmicrohttpd, TypeScript, esbuild)"
    exit 77
}
"$python" -c 'import playwright' 2>/dev/null || {
    echo "skipped: no Playwright; ./dev python --install gets it"
    exit 77
}
[ -x /usr/bin/chromium ] || {
    echo "skipped: no chromium"
    exit 77
}

record() {
    out=$1
    shift
    "$TRACESMITH" profile -o "$out" "$@" >"$folder/out" 2>&1 || {
        cat "$folder/out" >&2
        exit 1
    }
}
record "$folder/run.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline"
record "$folder/lossy.sbt" -b 64K -- "$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" -n 100000
python3 "$here/../report/make_awkward.py" "$folder/awkward.json"
viewports=25
[ -z "${TRACESMITH_SOAK:-}" ] || viewports=250
set -- "$folder/lossy.sbt" "$folder/run.sbt"
views=
if [ -n "${TRACESMITH_CORPUS:-}" ]; then
    set -- "$@" "$TRACESMITH_CORPUS/kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz" \
        "$TRACESMITH_CORPUS/nsysai_h100_2gpu_1s.sqlite"
    views="rocprof_908_results.json.gz jax_conv_minimal_08_tw003.xplane.pb traces_h100_google_owlv2-large-patch14-ensemble__1016001.json.gz"
fi
for trace; do
    "$python" "$here/check_pixels.py" "$trace" "$viewports"
done
set --
for name in $views; do
    set -- "$@" "$TRACESMITH_CORPUS/$name"
done
"$python" "$here/check_keys.py" "$folder/run.sbt"
record "$folder/recording.sbt" --capture -- "$TRACESMITH_BUILD_DIR/tests/programs/cl_what_if" independent -n 8
"$python" "$here/check_replay.py" "$folder/recording.sbt"
mkdir "$folder/compared"
"$python" "$here/check_compare.py" "$folder/compared"
"$python" "$here/check_views.py" "$folder/run.sbt" "$folder/lossy.sbt" "$folder/awkward.json" "$@"
