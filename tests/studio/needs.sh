# shellcheck shell=sh disable=SC2154 # the script that sources it has `here` and `folder`
# SPDX-License-Identifier: Apache-2.0
# How tests of the page of `tracesmith studio` begin, after traces.sh: what they need is there, and `python` can drive the browser.
. "$here/../support/python.sh"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

needs_server() {
    [ -x "$TRACESMITH_BUILD_DIR/libexec/tracesmith/tracesmith-studio" ] || {
        echo "skipped: tracesmith-studio is not built (libmicrohttpd, TypeScript, esbuild)"
        exit 77
    }
}

needs_reader() {
    [ -f "$TRACESMITH_BUILD_DIR/reader/reader.wasm" ] || {
        echo "skipped: reader.wasm is not built (clang, wasm-ld, wasi-libc)"
        exit 77
    }
}

needs_browser() {
    "$python" -c 'import playwright' 2>/dev/null || {
        echo "skipped: no Playwright; ./dev python --install gets it"
        exit 77
    }
    [ -x /usr/bin/chromium ] || {
        echo "skipped: no chromium"
        exit 77
    }
}

# record OUT WORD...: `tracesmith profile` into a file.
record() {
    out=$1
    shift
    "$TRACESMITH" profile -o "$out" "$@" >"$folder/out" 2>&1 || {
        cat "$folder/out" >&2
        exit 1
    }
}
