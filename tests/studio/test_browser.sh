#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `tracesmith studio` in a real browser: every panel (check_views.py), what is drawn against SQL (check_pixels.py), keys
# and links (check_keys.py), CPU samples (check_samples.py), a replay (check_replay.py), ranks and two sides compared (check_compare.py). On a recording, on one with losses, on names that want to be markup, and on real traces
# (TRACESMITH_CORPUS). Parts of traces that are drawn: 16 of each trace, 250 in the long form (TRACESMITH_SOAK), TRACESMITH_VIEWPORTS otherwise.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
. "$here/needs.sh"
needs_server
needs_browser

record "$folder/run.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline"
record "$folder/lossy.sbt" -b 64K -- "$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" -n 100000
python3 "$here/../report/make_awkward.py" "$folder/awkward.json"
viewports=${TRACESMITH_SOAK:+250}
viewports=${TRACESMITH_VIEWPORTS:-${viewports:-16}}
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
"$python" "$here/check_samples.py" "$folder" browser
"$python" "$here/check_replay.py" "$folder/recording.sbt"
mkdir "$folder/compared"
"$python" "$here/check_compare.py" "$folder/compared"
"$python" "$here/check_views.py" "$folder/run.sbt" "$folder/lossy.sbt" "$folder/awkward.json" "$@"
