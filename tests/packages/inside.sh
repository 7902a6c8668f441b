#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/packages/inside.sh deb|tarball|wheel|source: runs in a fresh root (tests/fresh-root.sh): installs what is in /packages (or builds the source), tries it, removes it,
# and compares the files before and after.
. "$(dirname "$0")/lib.sh"
# What a user keeps (the cache of imported traces) is no part of a package.
export DEBIAN_FRONTEND=noninteractive XDG_CACHE_HOME="$work/cache" XDG_STATE_HOME="$work/state"
what=$1
tried() { # the command in PATH
    cd "$work"
    [ "$(tracesmith version)" = "tracesmith $("$root/packaging/version.sh")" ] || fail "the version is $(tracesmith version)"
    tracesmith profile -o "$work/a.sbt" -- true >"$work/said" 2>&1 || fail "profile: $(cat "$work/said")"
    tracesmith info "$work/a.sbt" >"$work/info"
    grep -q '^state *complete' "$work/info" || fail "the trace: $(cat "$work/info")"
    code=0
    tracesmith devices >"$work/devices" 2>&1 || code=$?
    case $code in
    0) ;;
    4) grep -qiE 'not installed|no .*device' "$work/devices" || fail "devices does not say what is missing: $(cat "$work/devices")" ;;
    *) fail "devices ends with $code: $(cat "$work/devices")" ;;
    esac
    printf '[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]' >"$work/a.json"
    tracesmith query "$work/a.json" 'SELECT count(*) FROM events' >"$work/counted"
    [ "$(tail -n 1 "$work/counted" | tr -d ' ')" = 1 ] || fail "an imported trace: $(cat "$work/counted")"
    tracesmith report "$work/a.json" -o "$work/a.html"
    [ "$what" != source ] || return 0 # without the page
    tracesmith studio --export "$work/studio" "$work/a.sbt" >"$work/said" 2>&1 || fail "studio: $(cat "$work/said")"
}
tried_python() { # a Python that has the package, after tried
    "$1" -B -c 'import sys, tracesmith
trace = tracesmith.open(sys.argv[1])
assert list(trace.sql("SELECT count(*) FROM events"))[0][0] == 1
import tracesmith._cli, subprocess
assert subprocess.run([tracesmith._cli.command(), "version"], check=True, capture_output=True, text=True).stdout == sys.argv[2] + "\n"' \
        "$work/a.json" "tracesmith $("$root/packaging/version.sh")" || fail "the Python package"
}
unchanged() {
    listed / >"$work/after"
    diff "$work/before" "$work/after" >"$work/left" || fail "removal left something: $(grep '^[<>]' "$work/left" | head -n 20)"
}
case $1 in
tarball)
    cd /packages
    sha256sum -c --quiet SHA256SUMS
    listed / >"$work/before"
    began=$(date +%s)
    mkdir /opt/trace
    tar -xzf /packages/tracesmith-*.tar.gz -C /opt/trace --strip-components=1
    in_time $(($(date +%s) - began))
    PATH=/opt/trace/bin:$PATH tried
    rm -r /opt/trace
    unchanged
    ;;
wheel)
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3-venv >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
    (cd /packages && sha256sum -c --quiet SHA256SUMS)
    listed / >"$work/before"
    began=$(date +%s)
    python3 -m venv /opt/venv
    /opt/venv/bin/pip install -q --no-index --no-cache-dir /packages/*.whl
    in_time $(($(date +%s) - began))
    PATH=/opt/venv/bin:$PATH tried
    tried_python /opt/venv/bin/python
    /opt/venv/bin/pip uninstall -q -y tracesmith
    left=$(find /opt/venv -iname '*tracesmith*')
    [ -z "$left" ] || fail "pip uninstall left $left"
    rm -r /opt/venv
    unchanged
    ;;
source)
    cd "$root"
    ./dev packages build
    apt-get install -y -qq --no-install-recommends libvulkan-dev >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
    code=0
    ./dev demo >"$work/log" 2>&1 || code=$?
    [ "$code" = 4 ] || fail "./dev demo ends with $code: $(tail -n 20 "$work/log")"
    grep -q 'without the OpenCL agent.*cl_layer.h' "$work/log" || fail "./dev demo does not say what is missing: $(tail -n 20 "$work/log")"
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_BUILD_TESTS=OFF -DTRACESMITH_BUILD_BENCH=OFF >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
    for part in 'the Vulkan agent.*1\.3\.239' 'the page of tracesmith studio.*TypeScript 4\.8'; do
        grep -q "Not built: .*$part" "$work/log" || fail "what is left out is not said: $(cat "$work/log")"
    done
    cmake --build build -j "$(nproc)" >"$work/log" 2>&1 || fail "$(grep -m 5 'error' "$work/log")"
    PATH=$root/build/bin:$PATH tried
    ;;
deb)
    apt-get update -qq
    listed / >"$work/before"
    # dpkg's list, for the packages that come as dependencies.
    dpkg-query -W -f '${Package}\n' | sort >"$work/packages"
    began=$(date +%s)
    apt-get install -y -qq --no-install-recommends /packages/*.deb >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
    in_time $(($(date +%s) - began))
    tried
    [ ! -e /usr/lib/python3/dist-packages/tracesmith ] || tried_python python3
    dpkg-query -W -f '${Package}\n' | sort | comm -13 "$work/packages" - | xargs apt-get purge -y -qq >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
    unchanged
    ;;
esac
echo "$1: installed, tried, removed"
