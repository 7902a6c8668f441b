#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/old_libraries.sh FOLDER: the libraries that the tarball takes with it, from the packages of Debian 11 with its security
# updates, unpacked into FOLDER/root; FOLDER/packages lists them as 'PACKAGE SOURCE VERSION'. Needs apt and a network once; a folder
# that is complete stays as it is. Exit code 4: they cannot be downloaded.
set -eu
[ $# -eq 1 ] || { echo "usage: packaging/old_libraries.sh FOLDER" >&2; exit 2; }
packages='libzstd-dev zlib1g-dev libsqlite3-dev libexpat1-dev libdw-dev libelf-dev liblzma-dev libiberty-dev libmicrohttpd-dev
    libgcc-10-dev libdw1 libelf1 zlib1g liblzma5 libbz2-1.0'
mirror=${TRACESMITH_PACK_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ ! -f "$folder/packages" ] || exit 0
command -v apt-get >/dev/null || { echo "old_libraries.sh: no apt-get" >&2; exit 4; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/none"
: >"$work/status"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
printf 'deb [arch=amd64 signed-by=%s] %s bullseye main\ndeb [arch=amd64 signed-by=%s] %s bullseye-security main\n' \
    "$keys" "$mirror" "$keys" "${mirror%/debian}/debian-security" >"$work/sources.list"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/none" -o Dir::State::Lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Architecture=amd64 -o APT::Sandbox::User=root "$@" \
        >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        echo "old_libraries.sh: the packages of Debian 11 cannot be downloaded" >&2
        exit 4
    }
}
apt update
cd "$work/debs"
# shellcheck disable=SC2086 # a list of words
apt download $packages
rm -rf "$folder/root"
mkdir "$folder/root"
for file in *.deb; do
    dpkg-deb -x "$file" "$folder/root"
    # shellcheck disable=SC2016 # dpkg's own variables
    dpkg-deb -W --showformat='${Package} ${source:Package} ${source:Version}\n' "$file"
done | sort >"$work/packages"
mv "$work/packages" "$folder/packages"
