#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/guard.sh SECONDS FILE COMMAND [ARGUMENT...]: runs COMMAND for SECONDS at most. When the time is over it writes the
# stack of every thread of it and of all that it started to FILE, ends them, and exits with 124. Otherwise the exit code is
# COMMAND's. Stacks come from cuda-gdb or gdb where one is installed; from /proc always: where each thread is in the kernel
# and, while it waits there, where it came from.
set -u

if [ "$1" != --inside ]; then
    seconds=$1
    shift
    # Only the inside hears the end of the time: what it runs must still be there when its stacks are asked for.
    exec timeout --foreground -k 90 "$seconds" sh "$0" --inside "$@"
fi
file=$2
shift 2

descendants() { # PID: it and all that it started
    echo "$1"
    for list in /proc/"$1"/task/*/children; do
        # A subshell each: it has its own variables.
        tr ' ' '\n' <"$list" 2>/dev/null | while read -r below; do [ -z "$below" ] || descendants "$below"; done
    done
}

# place PID HEX: the file and offset of an address.
place() {
    at=$(($2))
    while read -r range flags offset _ _ path; do
        case $flags in *x*) ;; *) continue ;; esac
        if [ "$at" -ge $((0x${range%-*})) ] && [ "$at" -lt $((0x${range#*-})) ]; then
            printf '%s+0x%x' "${path:-memory}" $((at - 0x${range%-*} + 0x$offset))
            return
        fi
    done <"/proc/$1/maps"
    printf '%s' "$2"
}

from_proc() { # PID
    for task in /proc/"$1"/task/*; do
        state=$(sed -n 's/^State:[[:space:]]*//p' "$task/status" 2>/dev/null)
        call=$(cat "$task/syscall" 2>/dev/null)
        echo "thread ${task##*/} $(cat "$task/comm" 2>/dev/null): $state; in the kernel: $(cat "$task/wchan" 2>/dev/null); system call: $call"
        case $call in
        *' 0x'*) echo "    called from $(place "$1" "${call##* }" 2>/dev/null)" ;;
        esac
        sed 's/^/    /' "$task/stack" 2>/dev/null
    done
}

# All debuggers together have 30 s: a program that waits in the driver can keep one waiting, too.
from_debugger() { # PID
    spare=$((debugged_until - $(date +%s)))
    [ "$spare" -le 20 ] || spare=20
    [ "$spare" -gt 0 ] || { echo "the debugger's time was over" && return; }
    for debugger in cuda-gdb /usr/local/cuda/bin/cuda-gdb gdb; do
        command -v "$debugger" >/dev/null 2>&1 || continue
        timeout -k 2 "$spare" "$debugger" -p "$1" -batch -nx -ex 'set pagination off' -ex 'thread apply all bt 40' 2>&1 </dev/null | tail -n 300
        return
    done
    echo "neither cuda-gdb nor gdb is here"
}

finish() {
    # shellcheck disable=SC2086 # ids are words
    kill -TERM $all 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$child" 2>/dev/null || return 0
        sleep 0.2
    done
    # shellcheck disable=SC2086
    kill -KILL $all 2>/dev/null
}

over() {
    trap '' TERM
    all=$(descendants "$child")
    debugged_until=$(($(date +%s) + 30))
    # The program comes last in the list, and its stacks are what is wanted.
    newest_first=
    for pid in $all; do newest_first="$pid $newest_first"; done
    for pid in $newest_first; do
        [ -d "/proc/$pid/task" ] || continue
        echo "== process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        from_proc "$pid"
        from_debugger "$pid"
    done >"$file" 2>&1
    finish
    exit 124
}

trap over TERM
trap 'all=$(descendants "$child"); finish; exit 130' INT HUP
"$@" &
child=$!
wait "$child"
