#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# windows.sh BUILD [FILE...]: makes tracesmith.exe (packaging/portable.sh), runs it by wine and compares its answers with those of the library
# in BUILD: `info`, `analyze`, `import`, SQL and every export, byte by byte, of the golden traces, of files of tests and, where
# TRACESMITH_CORPUS names them, of those of other tools; or of FILE... only. Of the seeds of the fuzzers of all formats it compares `info` and
# `import`. A file that only tracesmith.exe refuses counts as a difference. What differs is kept in BUILD/elsewhere/windows/differs.
# `./dev elsewhere windows` runs it: minutes, and a network the first time.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
work=$build/elsewhere/windows
formats="chrome perfetto csv folded flamegraph pprof speedscope firefox memory-viz chakra arrow arrow-stream parquet"
sql="SELECT kind, name, count(*), sum(duration), min(start), max(end), avg(duration) FROM events GROUP BY kind, name ORDER BY kind, name"
wine=
for runner in wine wine64 /usr/lib/wine/wine64; do
    [ -n "$wine" ] || ! command -v "$runner" >/dev/null 2>&1 || wine=$runner
done
"$here/packaging/portable.sh" windows "$work"
cd "$here"
cc -std=gnu11 -O1 -Iinclude -I. -o "$work/here" cli/portable/portable.c -L"$build/lib" -ltracesmith -Wl,-rpath,"$build/lib"
ls -l "$work/tracesmith.exe"
sed 's/^/with /' "$work/packages"
[ -n "$wine" ] || { echo "built for Windows; not run: no wine (Debian: wine64)" && exit 0; }
WINEPREFIX=$work/wine WINEDEBUG=-all
export WINEPREFIX WINEDEBUG
# One server for all runs: it ends a minute after the last.
"$wine" wineboot -i >/dev/null 2>&1 || true
for server in wineserver /usr/lib/wine/wineserver64; do
    ! command -v "$server" >/dev/null 2>&1 || { "$server" -p60 2>/dev/null || true; break; }
done

compared=0 differ=0 traces=0
rm -rf "$work/differs"
mkdir "$work/differs"
# compare NAME ARGUMENT...: what both print to standard output, and their exit codes. Both get the word OUT as a file of their own.
compare() {
    what=$1 code=0 other=0
    shift
    rm -f "$work/OUT.here" "$work/OUT.wine"
    run here "$work/here" "$@" || code=$?
    run wine "$wine" "$work/tracesmith.exe" "$@" || other=$?
    compared=$((compared + 1))
    if [ "$code" = "$other" ] && cmp -s "$work/here.out" "$work/wine.out" &&
        { [ ! -f "$work/OUT.here" ] || cmp -s "$work/OUT.here" "$work/OUT.wine"; }; then
        return 0
    fi
    differ=$((differ + 1))
    echo "differs: $what (exit $other instead of $code): $(head -c 300 "$work/wine.err")"
    for where in here wine; do
        cp "$work/$where.out" "$work/differs/$differ.$where"
        [ ! -f "$work/OUT.$where" ] || cp "$work/OUT.$where" "$work/differs/$differ.$where.file"
    done
}
# run WHERE PROGRAM... ARGUMENT...
run() (
    where=$1
    shift
    for argument; do
        shift
        [ "$argument" != OUT ] || argument=$work/OUT.$where
        set -- "$@" "$argument"
    done
    exec "$@" >"$work/$where.out" 2>"$work/$where.err"
)
seeds=
if [ $# = 0 ]; then
    seeds=$(echo fuzz/corpus/import_*/*)
    python3 tests/studio/make_long.py "$work/long.json"
    # A name that is not of ASCII, and a compressed file.
    cp tests/sbt/golden/by-hand.sbt "$work/größe.sbt"
    zstd -qf "$work/long.json" -o "$work/long.json.zst" 2>/dev/null || true
    set -- tests/sbt/golden/*.sbt tests/stability/inputs/*.json "$work"/long.json* "$work"/*.sbt ${TRACESMITH_CORPUS:+"$TRACESMITH_CORPUS"/*}
fi
for trace; do
    case $trace in *.txt | */MANIFEST* | *.imported.sbt) continue ;; esac
    [ -f "$trace" ] || continue
    traces=$((traces + 1))
    name=${trace##*/}
    compare "info of $name" info "$trace"
    compare "analyze of $name" analyze "$trace"
    compare "import of $name" import -o OUT "$trace"
    [ ! -f "$work/OUT.here" ] || mv "$work/OUT.here" "$work/one.imported.sbt"
    [ ! -f "$work/one.imported.sbt" ] || compare "SQL of $name" query "$work/one.imported.sbt" "$sql"
    for format in $formats; do
        compare "$format of $name" export -f "$format" "$trace"
    done
done
for trace in $seeds; do
    traces=$((traces + 1))
    compare "info of $trace" info "$trace"
    compare "import of $trace" import -o OUT "$trace"
done
echo "$traces traces, $compared answers of tracesmith.exe in wine: $differ differ from those of $(uname -m) Linux"
[ "$differ" = 0 ]
