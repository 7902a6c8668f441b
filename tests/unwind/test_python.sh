#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Python stacks compared with the interpreter's own report, and the layouts against its headers, with every CPython
# that is here: python3.8 to python3.13 in PATH and in $TRACESMITH_PYTHONS (paths of interpreters).
set -eu
: "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
[ "$(uname -m)" = x86_64 ] || {
    echo "skipped: of other processors the walk alone is tested (unwind.aarch64)"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$TRACESMITH_SOURCE_DIR here=$TRACESMITH_SOURCE_DIR/tests/unwind

# Without sanitizers, whose runtime the interpreters do not have.
"$CC" -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -I"$source/include" -I"$source/src" -o "$work/probe.so" \
    "$here/python_probe.c" "$source"/src/unwind/python*.c "$source"/src/unwind/cfi*.c \
    "$source/src/unwind/unwind.c" "$source/src/unwind/unwind_table.c" "$source/src/unwind/unwind_debug.c" "$source/src/unwind/go_table.c"

pythons=
for name in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13; do
    # shellcheck disable=SC2230 # all of them, not the first
    pythons="$pythons $(which -a "$name" 2>/dev/null || true)"
done
versions=
for python in $pythons ${TRACESMITH_PYTHONS:-}; do
    # A launcher of several versions may have none of this name.
    identity=$("$python" -c 'import sys, platform
if platform.python_implementation() == "CPython" and (3, 8) <= sys.version_info[:2] <= (3, 13):
    print(sys.version.split()[0] + "=" + sys.base_prefix)' 2>/dev/null) || continue
    [ -n "$identity" ] || continue
    case " $versions " in
    *" $identity "*) continue ;;
    esac
    versions="$versions $identity"
    "$python" "$here/check_python.py" "$work/probe.so"
    if PYTHONPERFSUPPORT=1 "$python" -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null; then
        PYTHONPERFSUPPORT=1 "$python" "$here/check_python.py" "$work/probe.so"
    fi

    include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    if [ -f "$include/Python.h" ]; then
        "$CC" -w -I"$include" -I"$include/internal" -I"$source/src" -o "$work/layout" "$here/python_layout_truth.c"
        "$work/layout"
        mkdir "$work/inside"
        "$CC" -w -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -I"$include" -I"$source/include" -I"$source/src" \
            -o "$work/inside/probe_inside.so" "$here/python_probe_module.c" "$here/python_probe.c" \
            "$source"/src/unwind/python*.c "$source"/src/unwind/cfi*.c "$source/src/unwind/unwind.c" \
            "$source/src/unwind/unwind_table.c" "$source/src/unwind/unwind_debug.c" "$source/src/unwind/go_table.c"
        "$python" "$here/check_python_interpreters.py" "$work/inside"
        rm -r "$work/inside"
    else
        echo "$identity: no headers, so its sub-interpreters are left out"
    fi
done
[ -n "$versions" ] || {
    echo "skipped: no CPython 3.8 to 3.13"
    exit 77
}
