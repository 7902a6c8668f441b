# SPDX-License-Identifier: Apache-2.0
# Which compiler makes programs for a system without recording (packaging/portable.sh), for the scripts that source it: choose_system SYSTEM
# sets `compiler` and `archiver`, words of a command, and `ending` of programs. `root` is the checkout. False, with the reason: there is no
# compiler for it.
# shellcheck shell=sh disable=SC2034,SC2154 # the script that sources it uses them, and sets root
choose_system() {
    case $1 in
    windows)
        command -v x86_64-w64-mingw32-gcc >/dev/null || { echo "no x86_64-w64-mingw32-gcc (Debian: gcc-mingw-w64-x86-64)" >&2 && return 1; }
        compiler=x86_64-w64-mingw32-gcc archiver=x86_64-w64-mingw32-ar ending=.exe
        ;;
    macos-arm64 | macos-x86_64)
        zig=$("$root/packaging/zig.sh") || return 1
        processor=${1#macos-}
        [ "$processor" != arm64 ] || processor=aarch64
        # zig's own default is a sanitizer.
        compiler="$zig cc -target $processor-macos.11.0 -fno-sanitize=all -Wno-enum-float-conversion" archiver="$zig ar" ending=
        ZIG_GLOBAL_CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release/zig-cache ZIG_LOCAL_CACHE_DIR=$ZIG_GLOBAL_CACHE_DIR
        export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR
        ;;
    *)
        echo "windows, macos-arm64 or macos-x86_64, not $1" >&2
        return 1
        ;;
    esac
}
