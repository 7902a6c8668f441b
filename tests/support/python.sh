# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# To be sourced: sets python to the Python whose packages the tests use: TRACESMITH_PYTHON, else that of
# `./dev python --install`, else the first in PATH.
python=${TRACESMITH_PYTHON:-${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/python/bin/python}
[ -n "${TRACESMITH_PYTHON-}" ] || [ -x "$python" ] || python=python3
