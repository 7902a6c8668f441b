#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/Dockerfile: built by buildah from a base that debootstrap made (no image registry is asked), from the committed tree; the image
# has the command as its entry point, analyzes a trace, and has no compiler.
. "$(dirname "$0")/lib.sh"
needs buildah debootstrap git
[ "$(id -u)" = 0 ] || skip "needs root"
images() {
    buildah --root "$work/storage" --runroot "$work/run" --storage-driver "${TRACESMITH_DOCKER_STORAGE:-overlay}" "$@"
}
# Without it the mounts of the containers would keep the folder from being removed.
# shellcheck disable=SC2317 # called by the trap
finish() {
    images rm --all >/dev/null 2>&1 || true
    images rmi --all --force >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap finish EXIT
export BUILDAH_ISOLATION=chroot
container=$(images from scratch 2>"$work/log") || skip "buildah does not work here: $(tail -n 1 "$work/log")"
code=0
TRACESMITH_FRESH_EXPORT=$work/base.tar TRACESMITH_FRESH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release "$root/tests/fresh-root.sh" || code=$?
[ "$code" -ne 77 ] || skip "no bare Debian 12"
[ "$code" -eq 0 ] || fail "the bare Debian"
images add --quiet "$container" "$work/base.tar" / >/dev/null
rm "$work/base.tar"
images commit --quiet "$container" tracesmith-base >/dev/null
images rm "$container" >/dev/null
git -c safe.directory='*' clone -q --depth 1 "file://$root" "$work/tree"
began=$(date +%s)
images bud --pull-never --quiet --build-arg BASE=localhost/tracesmith-base -f "$work/tree/packaging/Dockerfile" -t tracesmith-tried "$work/tree" >"$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    fail "buildah bud"
}
echo "image: $(($(date +%s) - began)) s"
[ "$(images inspect --format '{{.OCIv1.Config.Entrypoint}}' tracesmith-tried)" = '[tracesmith]' ] || fail "the entry point"
container=$(images from --pull-never tracesmith-tried)
inside_image() {
    images run "$container" -- "$@"
}
[ "$(inside_image tracesmith version)" = "tracesmith $("$root/packaging/version.sh")" ] || fail "the version"
printf '[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]' >"$work/trace.json"
images copy --quiet "$container" "$work/trace.json" /data/trace.json >/dev/null
inside_image tracesmith info --json /data/trace.json | grep -q '"events":1,' || fail "a trace"
inside_image tracesmith profile -o /tmp/a.sbt -- true >"$work/log" 2>&1 || fail "profile: $(cat "$work/log")"
! inside_image sh -c 'command -v cc' >/dev/null 2>&1 || fail "the image has a compiler"
# What another image takes with COPY --from.
inside_image sh -c 'ls /packages/tracesmith_*.deb /packages/libtracesmith0_*.deb' >/dev/null || fail "/packages"
echo "docker: built, tried"
