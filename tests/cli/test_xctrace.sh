#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --xctrace runs xctrace (a fake one, which checks its command lines) and imports what it exports. The fake answers the query as
# XPath does, over a trace with a table of the GPU, one that the importer knows, and one that must not be exported.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tmp"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
cat >"$work/bin/xctrace" <<'PY'
#!/usr/bin/env python3
import os
import re
import stat
import subprocess
import sys

TABLES = {
    "metal-gpu-intervals": """<row><start-time id="1" fmt="0">1000</start-time><duration id="2" fmt="5 us">5000</duration>
<gpu-channel-name id="3" fmt="Compute">Compute</gpu-channel-name><metal-object-label id="4" fmt="axpy">axpy</metal-object-label></row>""",
    "os-signpost": """<row><event-time id="5" fmt="0">2000</event-time><signpost-name id="6" fmt="step">step</signpost-name></row>""",
    "kdebug": """<row><event-time id="7" fmt="0">3000</event-time></row>""",
}
COLUMNS = {"metal-gpu-intervals": ("start", "duration", "channel-name", "label"), "os-signpost": ("time", "name"), "kdebug": ("time",)}


def option(name):
    return sys.argv[sys.argv.index(name) + 1]


def record():
    end = sys.argv.index("--launch")
    assert sys.argv[end + 1] == "--" and option("--target-stdout") == option("--target-stdin") == "-" and "--no-prompt" in sys.argv[:end]
    if option("--template") != os.environ.get("EXPECTED_TEMPLATE", "Metal System Trace"):
        sys.exit(98)
    trace = option("--output")
    folder = os.path.dirname(os.path.abspath(trace))
    if "EXPECTED_TRACE" in os.environ:
        assert trace == os.environ["EXPECTED_TRACE"], trace
    else:
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
    code = subprocess.run(sys.argv[end + 2 :], check=False).returncode
    if os.environ.get("FAKE") != "none":
        os.makedirs(f"{trace}/run/1")
        with open(f"{trace}/run/1/data", "w", encoding="utf-8") as file:
            file.write("bundle")
    sys.exit(code)


def export():
    assert open(option("--input") + "/run/1/data", encoding="utf-8").read() == "bundle"
    query = option("--xpath")
    assert re.fullmatch(r'/trace-toc/run/data/table\[@schema="[a-z-]+"( or @schema="[a-z-]+")*\]', query), query
    with open(os.environ["QUERY"], "w", encoding="utf-8") as file:
        file.write(query)
    if os.environ.get("FAKE") == "refuses":
        sys.exit("no such table")
    wanted = set(re.findall(r'@schema="([a-z-]+)"', query))
    with open(option("--output"), "w", encoding="utf-8") as out:
        out.write('<?xml version="1.0"?>\n<trace-query-result>\n')
        for name, rows in TABLES.items():
            if name in wanted:
                columns = "".join(f"<col><mnemonic>{c}</mnemonic></col>" for c in COLUMNS[name])
                out.write(f'<node xpath="//trace-toc[1]/run[1]/data[1]/table[1]"><schema name="{name}">{columns}</schema>{rows}</node>\n')
        out.write("</trace-query-result>\n")


{"record": record, "export": export}[sys.argv[1]]()
PY
chmod +x "$work/bin/xctrace"
usual=$PATH
PATH=$work/bin:$PATH TMPDIR=$work/tmp QUERY=$work/query
export PATH TMPDIR QUERY

# run NAME OPTION... -- COMMAND...: sets status
run() {
    name=$1
    shift
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" "$@" >"$work/out" 2>"$work/err" || status=$?
}
# events NAME WHAT COUNT
events() {
    "$TRACESMITH" view -f json "$work/$1.sbt" >"$work/json" || fail "$1: no trace"
    [ "$(grep -o "$2" "$work/json" | wc -l)" -eq "$3" ] || fail "$1: $2: $(cat "$work/json")"
}
# shellcheck disable=SC2016 # the words of another shell
echo input | "$TRACESMITH" profile --xctrace -o "$work/a.sbt" -- sh -c 'read -r line; echo "$1 $line"; exit 5' sh 'a b' >"$work/out" 2>"$work/err" && fail "no status"
[ "$(cat "$work/out")" = 'a b input' ] || fail "the program's output: $(cat "$work/out") $(cat "$work/err")"
events a '"kind": *"kernel"' 1
events a '"name": *"axpy"' 1
events a '"kind": *"marker"' 1
[ -z "$(ls "$work/tmp")" ] || fail "left: $(ls "$work/tmp")"
# The query has the tables that the importer knows.
grep -o '@schema="[a-z-]*' "$QUERY" | sed 's/.*"//' | sort >"$work/asked"
sed -n 's/^    {"\([a-z-]*\)", TSMITH_KIND_.*/\1/p' "$TRACESMITH_SOURCE_DIR/src/import/xctrace/rows.c" | sort >"$work/known"
[ -s "$work/known" ] || fail "src/import/xctrace/rows.c is not read as it is written"
diff "$work/known" "$work/asked" || fail "the importer knows (<) other tables than are exported (>)"
run code --xctrace -- sh -c 'exit 5'
[ "$status" -eq 5 ] || fail "status $status: $(cat "$work/err")"

# Another template; it implies --xctrace.
EXPECTED_TEMPLATE='Game Performance' run template --xctrace-template 'Game Performance' -- true
[ "$status" -eq 0 ] || fail "template: status $status: $(cat "$work/err")"
events template '"name": *"axpy"' 1

# The trace of Instruments is kept next to the output, and never replaced.
EXPECTED_TRACE=$work/kept.trace run kept --xctrace --keep-trace -- true
[ "$status" -eq 0 ] || fail "kept: status $status: $(cat "$work/err")"
[ "$(cat "$work/kept.trace/run/1/data")" = bundle ] || fail "kept: no trace"
grep -q "is kept: $work/kept.trace" "$work/err" || fail "kept: $(cat "$work/err")"
[ -z "$(ls "$work/tmp")" ] || fail "kept: left: $(ls "$work/tmp")"
run kept --xctrace --keep-trace -- sh -c "touch '$work/ran'"
if [ "$status" -ne 2 ] || [ -e "$work/ran" ]; then fail "kept again: status $status: $(cat "$work/err")"; fi

# What the program was run for is kept if a later step fails.
FAKE=refuses run refused --xctrace -- true
[ "$status" -eq 4 ] || fail "refused: status $status: $(cat "$work/err")"
kept=$(sed -n 's/.*is kept: //p' "$work/err")
[ -f "$kept/run/1/data" ] || fail "refused: $(cat "$work/err")"
rm -r "${kept%/*}"
FAKE=none run none --xctrace -- true
if [ "$status" -ne 4 ] || [ -e "$work/none.sbt" ] || [ -n "$(ls "$work/tmp")" ]; then fail "none: status $status: $(cat "$work/err")"; fi

run other --xctrace --stacks -- true
[ "$status" -eq 2 ] || fail "other option: status $status: $(cat "$work/err")"
run both --xctrace --mctracer -- true
[ "$status" -eq 2 ] || fail "two profilers: status $status: $(cat "$work/err")"
PATH=$usual
run absent --xctrace -- true
[ "$status" -eq 4 ] || fail "absent: status $status: $(cat "$work/err")"
grep -q 'xctrace was found neither in PATH' "$work/err" || fail "absent: $(cat "$work/err")"
