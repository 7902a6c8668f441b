#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wheel works with every other Python from 3.10 on that is in PATH or that pyenv has installed. TRACESMITH_PYTHONS names
# them instead.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version_of() { "$1" -c 'import ensurepip, sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
done=" $(version_of "$venv_python") "
tried=
pyenv=${PYENV_ROOT:-${HOME:-/root}/.pyenv}/versions
for other in ${TRACESMITH_PYTHONS-python3 python3.10 python3.11 python3.12 python3.13 python3.14 python3.15 "$pyenv"/3.*/bin/python3}; do
    version=$(version_of "$other") || continue
    case "$done:$version" in
    *" $version "*:* | *:3.?) continue ;;
    esac
    done="$done$version "
    tried="$tried $version"
    echo "Python $version"
    "$other" -m venv "$work/$version"
    "$work/$version/bin/python" -m pip install --quiet --no-index --no-deps "$package"/wheel/*.whl
    for check in record errors life functions; do
        watched "$work/$version/bin/python" -B -W error "$TRACESMITH_SOURCE_DIR/tests/python/check_$check.py"
    done
done
[ -n "$tried" ] || echo "skipped: no other Python from 3.10 on in PATH or of pyenv (TRACESMITH_PYTHONS names some)"
