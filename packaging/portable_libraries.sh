#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/portable_libraries.sh SYSTEM FOLDER: SQLite, zstd, zlib, Expat and libiberty's demangler for SYSTEM (portable_systems.sh),
# compiled from the source packages of Debian 12 with its security updates: Debian has them for other systems in no package of its own, but
# for zlib. apt checks the packages' signatures. FOLDER/include and FOLDER/lib are for packaging/portable.sh, FOLDER/licenses has their
# terms, and FOLDER/packages lists them as 'SOURCE VERSION'. Needs apt and a network once; a folder that is complete stays as it is.
# Exit codes: 0 done, 1 one does not compile, 2 usage, 4 they cannot be downloaded, or a tool is missing.
set -eu
[ $# -eq 2 ] || { echo "usage: packaging/portable_libraries.sh SYSTEM FOLDER" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/packaging/portable_systems.sh"
choose_system "$1" || exit 4
suite=bookworm
mirror=${TRACESMITH_PACK_MIRROR:-http://deb.debian.org/debian}
sources="sqlite3 libzstd zlib expat libiberty"
mkdir -p "$2"
folder=$(cd "$2" && pwd)
[ ! -f "$folder/packages" ] || exit 0
for tool in apt-get dpkg-source make tclsh cc; do
    command -v "$tool" >/dev/null || { echo "portable_libraries.sh: no $tool" >&2 && exit 4; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fails CODE MESSAGE: with the end of the log.
fails() {
    cut -c1-300 "$work/log" | tail -n 20 >&2
    echo "portable_libraries.sh: $2" >&2
    exit "$1"
}

# ---- the sources

mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/downloads" "$work/none"
: >"$work/status"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
printf 'deb-src [signed-by=%s] %s %s main\ndeb-src [signed-by=%s] %s %s-security main\n' \
    "$keys" "$mirror" "$suite" "$keys" "${mirror%/debian}/debian-security" "$suite" >"$work/sources.list"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/none" -o Dir::State::Lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@" >"$work/log" 2>&1
}
apt update || fails 4 "the lists of Debian 12's source packages cannot be downloaded"
cd "$work/downloads"
for package in $sources; do
    if ! apt source --download-only "$package"; then
        # A mirror may have the list of the security updates and not all files.
        rm -f "$package"_*
        apt source --download-only "$package/$suite" || fails 4 "the source package $package cannot be downloaded"
        echo "portable_libraries.sh: the mirror lacks the newest $package; this one is without its latest security update" >&2
    fi
    # apt has compared the files with the list that the archive's key has signed.
    dpkg-source --no-check -x "$package"_*.dsc "$work/$package" >"$work/log" 2>&1 || fails 1 "$package cannot be unpacked"
    sed -n "s/^Version: /$package /p" "$package"_*.dsc | head -n 1
done >"$work/packages"

# ---- the libraries

rm -rf "${folder:?}/include" "${folder:?}/lib" "${folder:?}/licenses"
mkdir -p "$folder/include/libiberty" "$folder/lib" "$folder/licenses" "$work/config"
for package in $sources; do
    cp "$work/$package/debian/copyright" "$folder/licenses/$package"
done

# archive NAME FLAGS FILE...: libNAME.a
archive() {
    name=$1
    mkdir "$work/$name.objects"
    export compiler flags="$2" objects="$work/$name.objects"
    shift 2
    # shellcheck disable=SC2016 # the inner shell expands it
    printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh -c '$compiler -O2 $flags -c "$1" -o "$objects/$(basename "$1" .c).o"' sh \
        >"$work/log" 2>&1 || fails 1 "$name does not compile"
    $archiver rcs "$folder/lib/lib$name.a" "$objects"/*.o >"$work/log" 2>&1 || fails 1 "lib$name.a cannot be made"
}

cd "$work/libzstd/lib"
archive zstd "-DZSTD_LEGACY_SUPPORT=0 -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_" common/*.c compress/*.c decompress/*.c
cp zstd.h zstd_errors.h "$folder/include/"

# zlib takes every Mac for one without fdopen, unless it is a macro.
cd "$work/zlib"
archive z "-Dfdopen=fdopen" adler32.c crc32.c deflate.c inffast.c inflate.c inftrees.c trees.c zutil.c
cp zlib.h zconf.h "$folder/include/"

# Each system has a random number for hashes: Windows' rand_s is used without being named.
cat >"$work/config/expat_config.h" <<'CONFIG'
#define BYTEORDER 1234
#define XML_CONTEXT_BYTES 1024
#define XML_DTD 1
#define XML_NS 1
#ifndef _WIN32
#define HAVE_ARC4RANDOM_BUF 1
#endif
CONFIG
cd "$work/expat/expat/lib"
archive expat "-DXML_STATIC -I$work/config" xmlparse.c xmlrole.c xmltok.c
cp expat.h expat_external.h "$folder/include/"

cd "$work/libiberty/libiberty"
archive iberty "-DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_LIMITS_H -I$work/libiberty/include" cp-demangle.c cplus-dem.c d-demangle.c \
    rust-demangle.c safe-ctype.c xexit.c xmalloc.c xmemdup.c xstrdup.c
cp ../include/demangle.h ../include/ansidecl.h ../include/libiberty.h "$folder/include/libiberty/"

# SQLite in one file, as its main.mk makes it; the options of Debian's build that change answers.
mkdir "$work/sqlite3-build"
cd "$work/sqlite3-build"
make -f "$work/sqlite3/main.mk" TOP="$work/sqlite3" BCC="cc -O1" TCC="cc -O1" OPTS= sqlite3.c >"$work/log" 2>&1 ||
    fails 1 "sqlite3.c cannot be made"
archive sqlite3 "-fno-strict-aliasing -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_SOUNDEX=1 \
    -DSQLITE_LIKE_DOESNT_MATCH_BLOBS -DSQLITE_OMIT_LOOKASIDE=1 -DSQLITE_MAX_VARIABLE_NUMBER=250000 -DHAVE_ISNAN=1 -DSQLITE_OMIT_LOAD_EXTENSION" sqlite3.c
cp sqlite3.h "$folder/include/"
mv "$work/packages" "$folder/packages"
