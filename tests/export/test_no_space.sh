#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No space for an export, in every format: an error that names the file, and nothing under its name or another one. What was there
# before stays.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
python3 -B "$source/tests/export/make_columns.py" | "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt"
formats=$("$TRACESMITH" export "$folder/trace.sbt" -f none 2>&1 | sed -n 's/.*must be one of //p' | tr -d ,)
case $formats in
*chrome*parquet*) ;;
*) echo "the formats are not listed: $formats" && exit 1 ;;
esac
mkdir "$folder/small"
for format in $formats; do
    [ "$format" != otf2 ] || continue # a directory (export.otf2)
    for before in no yes; do
        rm -f "$folder/small"/*
        [ $before = no ] || echo before >"$folder/small/trace"
        if (ulimit -f 1 && trap '' XFSZ && exec "$TRACESMITH" export "$folder/trace.sbt" -f "$format" -o "$folder/small/trace") \
            2>"$folder/errors"; then
            [ "$(wc -c <"$folder/small/trace")" -gt 512 ] || break # nothing of this trace is in the format
            echo "$format: the file is larger than the limit"
            exit 1
        fi
        grep -q "small/trace: cannot be written" "$folder/errors" || { cat "$folder/errors" && exit 1; }
        [ $before = no ] || [ "$(cat "$folder/small/trace")" = before ]
        rm -f "$folder/small/trace"
        left=$(ls "$folder/small")
        [ -z "$left" ] || { echo "$format: left $left" && exit 1; }
    done
    if "$TRACESMITH" export "$folder/trace.sbt" -f "$format" >/dev/full 2>"$folder/errors"; then
        echo "$format: no error on a full device"
        exit 1
    fi
    grep -qi 'no space' "$folder/errors"
done
