#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that is written from the table of commands is as the table has it, and the table has nothing dead.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$TRACESMITH_SOURCE_DIR

compare() {
    "$TRACESMITH" help --as "$1" >"$work/made"
    cmp "$work/made" "$root/$2" || {
        echo "$2 is old: tracesmith help --as $1 > $2"
        exit 1
    }
}
compare markdown docs/commands.md
compare events docs/events.md

# The formats that are read: help has them from the library's table, and docs/sources.md has the same ones.
# shellcheck disable=SC2016 # backticks of Markdown
sed -n '/^## import$/,/^| option /s/^| `\([a-z0-9-]*\)` |.*/\1/p' "$root/docs/commands.md" | sort >"$work/formats"
sed -n '/^## Traces of other profilers/,$s/^| `\([a-z0-9-]*\)`.*/\1/p' "$root/docs/sources.md" | sort >"$work/described"
[ "$(wc -l <"$work/formats")" -ge 8 ]
cmp "$work/formats" "$work/described" || {
    echo "docs/sources.md describes other formats than tracesmith help import lists"
    exit 1
}

# Every option of the table is asked for by the code of its command.
commands=$(sed -n 's/^const struct command \([a-z]*\)_entry.*/\1/p' "$root"/cli/options/commands_*.c)
sed -n 's/.*\.name = "\([a-z-]*\)".*/\1/p' "$root"/cli/options/commands*.c "$root/cli/options/options.h" | sort -u >"$work/names"
[ "$(wc -l <"$work/names")" -ge 20 ]
while read -r name; do
    case " $(echo "$commands" | tr '\n' ' ') " in
    *" $name "*) continue ;;
    esac
    grep -l "\"$name\"" "$root"/cli/*.c "$root"/cli/*/*.c | grep -qv 'commands[a-z_]*\.c$' || {
        echo "the option is not used: --$name"
        exit 1
    }
done <"$work/names"

# No command has more options than a command line has room for.
room=$(sed -n 's/^enum { OPTIONS_MAX = \([0-9]*\) };/\1/p' "$root/cli/options/command.h")
awk -v room="$room" '/^## / { name = $2; count = 0 }
    /^\| `-/ && ++count > room { print name " has more than " room " options: see OPTIONS_MAX"; failed = 1 }
    END { exit failed || !(room > 0) }' "$root/docs/commands.md"

# Man pages: roff without a complaint, where there is a checker. tracesmith-mpi is a program of its own.
for command in '' $commands mpi; do
    case $command in
    mpi) "${TRACESMITH%/*}/tracesmith-mpi" --help=man >"$work/page.1" ;;
    *) "$TRACESMITH" help --as man ${command:+"$command"} >"$work/page.1" ;;
    esac
    grep -q '^\.SH EXIT STATUS' "$work/page.1"
    cmp "$work/page.1" "$TRACESMITH_BUILD_DIR/cli/tracesmith${command:+-$command}.1" # and is what gets installed
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww "$work/page.1" >/dev/null 2>"$work/err"
        [ ! -s "$work/err" ] || {
            cat "$work/err"
            exit 1
        }
    fi
done

# Completions: valid for their shells, and the bash one completes.
for shell in bash zsh fish; do
    "$TRACESMITH" help --as $shell >"$work/completion.$shell"
    if command -v $shell >/dev/null; then
        $shell -n "$work/completion.$shell"
    fi
done
command -v bash >/dev/null || exit 0
# complete WORD...: what bash offers for the last word
offers() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tracesmith; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$work/completion.bash" "$@"
}
expect() {
    wanted=$1
    shift
    offers "$@" | grep -qx -e "$wanted" || {
        echo "no '$wanted' for: $*"
        offers "$@"
        exit 1
    }
}
expect profile tracesmith pro
expect --no-color tracesmith --no
expect --stats tracesmith view --st
expect json tracesmith view -f j
expect kernel,memcpy tracesmith view --type kernel,memc
expect drop-oldest tracesmith profile --overflow drop-o
expect view tracesmith help v
expect markdown tracesmith help --as m
expect callsites tracesmith analyze page.sbt calls
(cd "$work" && expect page.1 tracesmith view pag)
