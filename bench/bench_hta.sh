#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HTA's questions on traces of TRACESMITH_CORPUS, by HTA and by tracesmith.hta. What is measured: hta.py. TRACESMITH_HTA_PYTHON names a
# Python that has both (PyPI: HolisticTraceAnalysis, and the wheel of ./dev wheel); else that of the tests, with ours alone.
set -eu
: "${TRACESMITH_BUILD_DIR:?}"
[ -n "${TRACESMITH_CORPUS-}" ] || { echo "skipped: TRACESMITH_CORPUS names no folder of traces"; exit 0; }
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
cd "$TRACESMITH_CORPUS"
"${TRACESMITH_HTA_PYTHON:-$venv_python}" -B "$TRACESMITH_SOURCE_DIR/bench/hta.py" trace_filter_sampled_rank-0.json.gz \
    kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz \
    traces_h100_google_owlv2-large-patch14-ensemble__1016001.json.gz
