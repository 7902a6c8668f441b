#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The reader for browsers (reader.wasm), run by Node: what it imports, its answers against those of the server (check_reader.py), and
# damaged files, at which it may only fail.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
. "$here/needs.sh"
needs_reader
needs_server
wasm=$TRACESMITH_BUILD_DIR/reader/reader.wasm
command -v node >/dev/null 2>&1 || {
    echo "skipped: no Node (Debian: nodejs)"
    exit 77
}

reader=$folder/reader.js
esbuild "$here/reader.ts" --bundle --platform=node --log-level=warning --outfile="$reader"

# A browser gives it three functions and nothing else.
imports=$(node -e 'for (const { module, name } of WebAssembly.Module.imports(new WebAssembly.Module(require("fs").readFileSync(process.argv[1]))))
    console.log(module + "." + name)' "$wasm" | sort | tr '\n' ' ')
[ "$imports" = "host.open host.read host.size " ] || {
    echo "FAILED: it imports $imports" >&2
    exit 1
}

"$TRACESMITH" profile -o "$folder/run.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline" >"$folder/out" 2>&1 || {
    cat "$folder/out" >&2
    exit 1
}
python3 "$here/make_long.py" "$folder/long.json"
"$TRACESMITH" import "$folder/long.json" -o "$folder/long.sbt" >"$folder/out"
python3 "$here/make_late.py" "$folder/late.json"
"$TRACESMITH" import "$folder/late.json" -o "$folder/late.sbt" >"$folder/out"
set -- "$folder/run.sbt" "$folder/long.sbt" "$folder/late.sbt"
for name in kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz nsysai_h100_2gpu_1s.sqlite; do
    [ -n "${TRACESMITH_CORPUS:-}" ] || continue
    "$TRACESMITH" import "$TRACESMITH_CORPUS/$name" -o "$folder/$name.sbt" >"$folder/out"
    set -- "$@" "$folder/$name.sbt"
done
for file in "$source"/fuzz/corpus/sbt_read/*.sbt; do
    set -- "$@" "$file"
done
python3 "$here/check_reader.py" "$reader" "$wasm" "$@"
python3 "$here/check_reader_damage.py" "$reader" "$wasm" "$folder/run.sbt" "$source"/fuzz/corpus/sbt_read/*.sbt
