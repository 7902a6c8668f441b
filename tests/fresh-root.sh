#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fresh-root.sh [COMMAND...]: what a new user meets. Makes a Debian 12 root with nothing in it (debootstrap
# --variant=minbase), puts the checkout there and nothing else, and runs in it ./dev demo as root and ./dev test as an
# ordinary user; or COMMAND instead of all that. The tests as root are those of .ci/run, which runs as root.
#
# Needs root, debootstrap and the right to mount; without them it prints that and exits 77. The host's apt
# configuration for Debian (mirror, proxy, expiry) goes along, so that it works where the host's own apt works.
# TRACESMITH_FRESH_CACHE=DIR keeps the bare root there as a tar file for the next time, TRACESMITH_FRESH_SUITE=NAME takes another
# version of Debian (without apt's configuration), TRACESMITH_FRESH_WITH=DIR puts the files of a folder into /packages there.
# TRACESMITH_FRESH_EXPORT=FILE only writes the bare root, with apt's configuration, to a tar file.
set -eu

suite=bookworm # of the host's sources
checkout=/home/tester/tracesmith # within the fresh root
root=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'fresh root: %s\n' "$*"; }
skip() {
    say "skipped: $*"
    exit 77
}

# In a mount and process namespace of its own, every mount and process is gone when it ends, however it ends.
if [ "${TRACESMITH_FRESH_INSIDE-}" != 1 ]; then
    [ "$(id -u)" = 0 ] || skip "needs root"
    command -v debootstrap >/dev/null 2>&1 || skip "needs debootstrap (apt-get install debootstrap)"
    unshare --mount --pid --fork true 2>/dev/null || skip "this machine does not let root mount"
    target=$(mktemp -d "${TMPDIR:-/var/tmp}/tracesmith-fresh.XXXXXX")
    child=
    # shellcheck disable=SC2317 # called by the trap
    finish() {
        # unshare lets SIGTERM pass by; with it killed, so is all that it started.
        [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
        rm -f "$target.log"
        # What still runs in the namespace is dying; once may be too early.
        rm -rf --one-file-system "$target" 2>/dev/null || {
            sleep 1
            rm -rf --one-file-system "$target"
        }
    }
    trap finish EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    # From here to wait, so that a signal is heard at once and the namespace ends with us.
    TRACESMITH_FRESH_INSIDE=1 TRACESMITH_FRESH_TARGET=$target \
        unshare --mount --propagation private --pid --fork --kill-child "$0" "$@" &
    child=$!
    code=0
    wait "$child" || code=$?
    child=
    exit "$code"
fi
target=${TRACESMITH_FRESH_TARGET:?}

# The host's Debian mirror: the first address that its apt sources name for this suite.
mirror=$(
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$list" ] || awk -v s="$suite" '$1 == "deb" {
            sub(/\[[^]]*\] */, "")
            if ($3 == s) print $2
        }' "$list"
    done
    for list in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$list" ] || awk -v s="$suite" '
            /^URIs:/ { uri = $2 }
            /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == s) found = 1 }
            /^[ \t]*$/ { if (found && uri) print uri; uri = ""; found = 0 }
            END { if (found && uri) print uri }' "$list"
    done
)
mirror=$(printf '%s\n' "$mirror" | head -n 1)
[ -n "$mirror" ] || skip "the apt sources of this machine name no mirror for $suite"
hosts=$suite
suite=${TRACESMITH_FRESH_SUITE:-$suite}

# apt's proxy, for debootstrap, which does not read apt's configuration.
if [ -z "${http_proxy-}" ]; then
    proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy 2>/dev/null | head -n 1)
    [ -z "$proxy" ] || export http_proxy="$proxy"
fi

bare_root() {
    cached=${TRACESMITH_FRESH_CACHE:+$TRACESMITH_FRESH_CACHE/$suite-minbase.tar}
    if [ -n "$cached" ] && [ -f "$cached" ]; then
        tar -xf "$cached" -C "$target"
        return
    fi
    if ! debootstrap --variant=minbase "$suite" "$target" "$mirror" >"$target.log" 2>&1; then
        tail -n 20 "$target.log"
        rm -f "$target.log"
        return 1
    fi
    rm -f "$target.log"
    [ -n "$cached" ] || return 0
    mkdir -p "${cached%/*}" && tar -cf "$cached.new" -C "$target" . && mv "$cached.new" "$cached"
}

# Only what concerns Debian's own archive: other archives and hooks of the host have no place in a fresh root.
copy_apt_configuration() {
    [ "$suite" = "$hosts" ] || return 0
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        if [ -f "$list" ] && grep -qF "$mirror" "$list"; then
            rm -f "$target/etc/apt/sources.list"
            break
        fi
    done
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        if [ -f "$list" ] && grep -qF "$mirror" "$list"; then
            cp "$list" "$target$list"
        fi
    done
    for conf in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
        if [ -f "$conf" ] && grep -q 'Acquire::' "$conf" && ! grep -q 'Invoke' "$conf"; then
            cp "$conf" "$target$conf"
        fi
    done
    cp -r /etc/apt/trusted.gpg.d/. "$target/etc/apt/trusted.gpg.d/" 2>/dev/null
    for file in /etc/resolv.conf /etc/hosts; do
        [ ! -f "$file" ] || cat "$file" >"$target$file"
    done
}

copy_checkout() {
    mkdir -p "$target$checkout" || return
    [ -z "${TRACESMITH_FRESH_WITH-}" ] || cp -r "$TRACESMITH_FRESH_WITH" "$target/packages" || return
    if git -C "$root" -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
        # Tracked files as they are now; one that was deleted and not yet committed is passed over.
        git -C "$root" -c safe.directory='*' ls-files -z |
            tar -C "$root" --null -T - --ignore-failed-read -cf - 2>/dev/null |
            tar -C "$target$checkout" --no-same-owner -xf -
    else
        tar -C "$root" --exclude='./build*' -cf - . | tar -C "$target$checkout" --no-same-owner -xf -
    fi
}

# What every machine has and a bare folder has not.
mount_system() {
    mount -t proc proc "$target/proc" || return
    mount -t sysfs -o ro sysfs "$target/sys" 2>/dev/null || mount --rbind -o ro /sys "$target/sys" || return
    mkdir -p "$target/dev/shm" "$target/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$target/dev/shm" || return
    # Without it the tests that want a terminal skip.
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$target/dev/pts" 2>/dev/null || true
    if [ ! -c "$target/dev/null" ]; then
        for node in null zero full random urandom tty; do
            : >"$target/dev/$node"
            mount --bind "/dev/$node" "$target/dev/$node" || return
        done
    fi
}

# shellcheck disable=SC2016 # the inner shell expands it
inside() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        chroot "$target" sh -c 'cd "$0" && exec "$@"' "$checkout" "$@"
}

# step NAME COMMAND...: a command that is a function must itself pass on each failure (|| return), since the shell
# does not end it at the first one here.
step() {
    name=$1
    shift
    before=$(date +%s)
    if "$@"; then
        say "$name: $(($(date +%s) - before)) s"
    else
        code=$?
        say "$name FAILED (exit $code) after $(($(date +%s) - before)) s"
        exit 1
    fi
}

demo() {
    inside ./dev demo || return
    [ -s "$target$checkout/build/demo/image_pipeline.sbt" ] || {
        say "the demo left no trace file"
        return 1
    }
}

# All tests without a root's rights, with the packages that ./dev test would install if it could.
test_as_user() {
    inside ./dev packages build device test || return
    inside useradd --no-create-home --home-dir "${checkout%/*}" --shell /bin/bash tester || return
    inside chown -R tester "${checkout%/*}" || return
    # shellcheck disable=SC2016 # the inner shell expands it
    inside su - tester -c 'cd tracesmith && TRACESMITH_MUST_RUN=$PWD/.ci/once TRACESMITH_ALLOWED_SKIPS=$PWD/.ci/skips ./dev test'
}

say "Debian $suite from $mirror"
step "bare root" bare_root
chmod 755 "$target" # apt and the tests run as other users, too
step "apt configuration" copy_apt_configuration
if [ -n "${TRACESMITH_FRESH_EXPORT-}" ]; then
    step "export" tar -cf "$TRACESMITH_FRESH_EXPORT" -C "$target" .
    exit 0
fi
step "checkout" copy_checkout
step "mounts" mount_system
if [ $# -gt 0 ]; then
    step "$*" inside "$@"
    exit 0
fi
step "./dev lists its verbs" inside sh -c './dev | grep -q demo'
step "./dev demo" demo
step "./dev test as a user" test_as_user
say "passed"
