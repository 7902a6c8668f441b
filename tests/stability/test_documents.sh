#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command, option, exit code, SQL column, event, and Python name and parameter of documents.txt is still there
# (check_documents.py); a name that went and a parameter that callers do not give are found.
#   test_documents.sh --update adds what is new
# shellcheck disable=SC2016 # backticks of Markdown
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
here=$TRACESMITH_SOURCE_DIR/tests/stability
check() {
    python3 -B "$here/check_documents.py" "$@"
}
if [ "${1-}" = --update ]; then
    check "$TRACESMITH_SOURCE_DIR" "$here/documents.txt" --update
    exit
fi
check "$TRACESMITH_SOURCE_DIR" "$here/documents.txt"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$TRACESMITH_SOURCE_DIR/docs" "$work/docs"
# changed DOCUMENT SED WORDS: after this change the check fails, or with no WORDS it passes.
changed() {
    sed -i "$2" "$work/docs/$1"
    ! cmp -s "$work/docs/$1" "$TRACESMITH_SOURCE_DIR/docs/$1" || { echo "'$2' changes nothing in $1"; exit 1; }
    code=0
    check "$work" "$here/documents.txt" >"$work/said" || code=$?
    if [ "$3" ] && { [ "$code" -eq 0 ] || ! grep -qF -- "$3" "$work/said"; }; then
        echo "not found: $2 in $1"
        cat "$work/said"
        exit 1
    elif [ -z "$3" ] && [ "$code" -ne 0 ]; then
        echo "an addition is refused: $2 in $1"
        cat "$work/said"
        exit 1
    fi
    cp "$TRACESMITH_SOURCE_DIR/docs/$1" "$work/docs/$1"
}
changed commands.md '/^## diff$/,/^## import$/s/--confidence/--trust/' 'option diff --confidence argument'
changed commands.md 's/`drop-oldest`/`drop-old`/' 'word profile --overflow drop-oldest'
changed query.md 's/^| `duration` | INTEGER/| `duration` | REAL/' 'column events duration INTEGER'
changed events.md 's/^| 1 | `kernel`/| 1 | `kernels`/' 'kinds 1 kernel'
changed python-api.md 's/hide_interpreter/hidden/' 'parameter Trace.analyze hide_interpreter: name, default False'
changed python-api.md 's/^diff(new: Traces, confidence/diff(new: Traces, other, confidence/' 'callers do not give this: parameter Trace.diff other'
changed commands.md 's/^| `--no-color` /| `--new-option` | New. |\n&/' ''
changed query.md 's/^| `duration` | INTEGER/| `new` | TEXT | | |\n&/' ''
