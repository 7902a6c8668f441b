#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table "Where a change goes" of ARCHITECTURE.md is true: in a copy of the tree a field, an import format, an analysis and an
# agent are added by edits of the files that their rows name and of no other (change_table.py). The copy is built, and what was
# added works, is in help and documents, and passes the checks of a change.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
skip() {
    echo "skipped: $*"
    exit 77
}
command -v python3 >/dev/null || skip "no python3"
pipeline=$TRACESMITH_BUILD_DIR/examples/image_pipeline
TOY_PROGRAM=$TRACESMITH_BUILD_DIR/examples/new_agent/toy_program
export TOY_PROGRAM
[ -x "$pipeline" ] || skip "no OpenCL example was built"
[ -x "$TOY_PROGRAM" ] || skip "the examples are not built"
[ -x "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" ] || skip "the test programs are not built"
here=$TRACESMITH_SOURCE_DIR/tests/build
WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
tree=$WORK/tree
mkdir "$tree"
tar -C "$TRACESMITH_SOURCE_DIR" --exclude='./build*' --exclude=./.git --exclude=./.cache -cf - . | tar -C "$tree" -xf -
python3 -B "$here/change_table.py" apply "$tree"

# Without optimization: what takes time is compiling. The settings of the build that runs this test find the same libraries.
quiet() {
    "$@" >"$WORK/log" 2>&1 || {
        tail -n 60 "$WORK/log"
        exit 1
    }
}
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$TRACESMITH_BUILD_DIR/CMakeCache.txt")
launcher=$(sed -n 's/^CMAKE_C_COMPILER_LAUNCHER:[A-Z]*=//p' "$TRACESMITH_BUILD_DIR/CMakeCache.txt")
quiet cmake -G "$generator" -S "$tree" -B "$WORK/build" -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DTRACESMITH_WERROR=ON -DTRACESMITH_BUILD_BENCH=OFF \
    -DTRACESMITH_BUILD_EXAMPLES=OFF -DTRACESMITH_ENABLE_BPF=OFF -DTRACESMITH_ENABLE_OCLGRIND=OFF
# The sources lie in another place in every run; ccache gets it by CCACHE_BASEDIR.
CCACHE_BASEDIR=$WORK CCACHE_NOHASHDIR=1 quiet cmake --build "$WORK/build" -j "$(getconf _NPROCESSORS_ONLN)" --target \
    tracesmith_generated tracesmith_opencl tracesmith_cuda tracesmith_nvtx tracesmith_toy fuzz_import_toy test_analyze_docs
outer=$TRACESMITH_BUILD_DIR
export TRACESMITH="$WORK/build/bin/tracesmith" TRACESMITH_BUILD_DIR="$WORK/build" TRACESMITH_SOURCE_DIR="$tree"

# The documents that the rows call generated are the only ones that differ from what the command writes.
python3 -B "$here/change_table.py" generated "$tree" >"$WORK/generated"
for document in markdown:docs/commands.md events:docs/events.md; do
    "$TRACESMITH" help --as "${document%%:*}" >"$WORK/document"
    if ! cmp -s "$WORK/document" "$tree/${document#*:}"; then
        echo "${document#*:}"
        cp "$WORK/document" "$tree/${document#*:}"
    fi
done >"$WORK/different"
cp "$tree/docs/query.md" "$WORK/document"
quiet env TRACESMITH_BUILD_DIR="$outer" python3 -B "$tree/tests/query/check_docs.py" --write # sbt_make is there
cmp -s "$WORK/document" "$tree/docs/query.md" || echo docs/query.md >>"$WORK/different"
grep '^docs/' "$WORK/generated" | cmp - "$WORK/different" || {
    echo "the rows say that these are generated:" && cat "$WORK/generated"
    echo "these changed:" && cat "$WORK/different"
    exit 1
}
# has EXPRESSION FILE
has() {
    grep -q -e "$1" "$2" || {
        echo "$2 has nothing like $1"
        exit 1
    }
}
has "dimensions of the launch" "$tree/docs/events.md"
has "dimensions of the launch" "$tree/docs/query.md"
has '^| .toy-text. | Toy traces: every range' "$tree/docs/commands.md"
has '.event_kinds.: Which kinds of events' "$tree/docs/commands.md"
has '.toy.: The toy GPU' "$tree/docs/commands.md"
"$TRACESMITH" analyze --list >"$WORK/list"
has '^event_kinds' "$WORK/list"

# What was added works.
quiet python3 -B "$here/change_table.py" field "$pipeline"
quiet sh -x "$tree/tests/import/test_toy.sh"
quiet "$WORK/build/fuzz/fuzz_import_toy" "$tree/fuzz/corpus/import_toy"
quiet sh -x "$tree/tests/toy/test_toy.sh"
cat >"$WORK/trace.json" <<'JSON'
{"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "one", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"stream": 7, "device": 0}},
{"ph": "X", "cat": "kernel", "name": "two", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"stream": 7, "device": 0}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7, "ts": 9, "dur": 1, "args": {"stream": 7, "device": 0}}]}
JSON
gzip "$WORK/trace.json"
"$TRACESMITH" analyze --json --all "$WORK/trace.json.gz" >"$WORK/reports.json"
python3 -B "$tree/tests/reference/check.py" "$WORK/trace.json.gz" "$WORK/reports.json"

# The checks of a change pass.
for check in build/test_arrows.sh build/test_shape.sh build/test_spdx.sh build/test_banned.sh build/test_symbols.sh \
    build/test_symbols_abi.sh build/test_vendors.sh build/test_formats.sh cli/test_docs.sh analyze/test_sentences_table.sh rust/test_bindings.sh; do
    quiet sh -x "$tree/tests/$check"
done
quiet "$WORK/build/tests/analyze/test_docs"
