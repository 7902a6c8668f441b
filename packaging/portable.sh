#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/portable.sh SYSTEM OUT: makes OUT/tracesmith (OUT/tracesmith.exe for Windows) of cli/portable for a system where nothing is
# recorded: it reads traces of every format, exports them, converts them to SBT and answers questions about them, SQL as well. It is one file
# that needs no other library than the system's. It has no export to OTF2 and dot. OUT/licenses has the terms of the libraries in it, and OUT/packages
# lists them as 'SOURCE VERSION', in Debian's words.
#
#   windows       64 bits, by Debian's mingw-w64. Names of files are UTF-8 from Windows 10 1903 on; before, names in ASCII alone work
#   macos-arm64, macos-x86_64   macOS 11 or newer, by zig (packaging/zig.sh)
#
# Exit codes: 0 done, 1 something does not compile, 2 usage, 4 the machine lacks something (said which).
set -eu
export LC_ALL=C # the order of files
[ $# -eq 2 ] || { echo "usage: packaging/portable.sh SYSTEM OUT" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/packaging/portable_systems.sh"
choose_system "$1" || exit 4
system=${1%-*}
libraries=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/elsewhere/$1
"$root/packaging/portable_libraries.sh" "$1" "$libraries"
rm -rf "$2/licenses"
mkdir -p "$2/objects" "$2/licenses"
out=$(cd "$2" && pwd)
cd "$root"

# What reads, imports, exports, converts and answers, without what asks an operating system; that is in src/platform/SYSTEM.
sources() {
    printf '%s\n' src/base/*.c src/event/*.c src/sbt/*.c src/import/*.c src/import/*/*.c src/export/*.c src/export/*/*.c src/analyze/*.c \
        src/state/*.c src/simulate/*.c src/query/*.c src/demangle/*.c src/platform/other/*.c src/platform/"$system"/*.c \
        src/platform/posix/unzstd.c src/api/query.c cli/portable/*.c |
        grep -vE '^src/base/(clock|file|other_root|processors)\.c$|^src/sbt/(file|lock|recording|recover)\.c$' |
        grep -vE '^src/export/otf2/(archive|definitions|lanes|otf2|tree)\.c$'
    [ "$system" != macos ] || echo src/platform/posix/file.c
}
flags="-std=gnu11 -D_GNU_SOURCE -DNDEBUG -O2 -Wall -Wextra -Werror -ffunction-sections -fdata-sections -Iinclude -Isrc -I. \
-isystem src/platform/$system/headers -isystem src/platform/other/headers -isystem $libraries/include -include src/platform/$system/missing.h"
if [ "$system" = windows ]; then
    # Warnings about formats know only those of Microsoft's printf.
    flags="$flags -Wno-format -Wno-format-extra-args -D__USE_MINGW_ANSI_STDIO=1 -D_FILE_OFFSET_BITS=64 -D_POSIX_THREAD_SAFE_FUNCTIONS -DXML_STATIC"
    leave_out='^src/base/(destination|system)\.c$'
else
    leave_out='^$'
fi
export out flags
[ "$system" != windows ] || compiler="${CMAKE_C_COMPILER_LAUNCHER-} $compiler"
export compiler
rm -f "$out"/objects/*
# shellcheck disable=SC2016 # the inner shell expands it
sources | grep -vE "$leave_out" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh -c '
    $compiler $flags -c "$1" -o "$out/objects/$(echo "$1" | tr / _).o"' sh || { echo "portable.sh: it does not compile" >&2 && exit 1; }

set -- -lsqlite3 -lzstd -lexpat -liberty -lz -lm -lpthread
if [ "$system" = windows ]; then
    # Names of files and arguments are UTF-8 by this manifest.
    cat >"$out/objects/manifest.xml" <<'XML'
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<assembly manifestVersion="1.0" xmlns="urn:schemas-microsoft-com:asm.v1">
  <application xmlns="urn:schemas-microsoft-com:asm.v3">
    <windowsSettings>
      <activeCodePage xmlns="http://schemas.microsoft.com/SMI/2019/WindowsSettings">UTF-8</activeCodePage>
      <longPathAware xmlns="http://schemas.microsoft.com/SMI/2016/WindowsSettings">true</longPathAware>
    </windowsSettings>
  </application>
</assembly>
XML
    echo '1 24 "manifest.xml"' >"$out/objects/manifest.rc"
    (cd "$out/objects" && x86_64-w64-mingw32-windres manifest.rc manifest.o)
    set -- -static -s -Wl,--gc-sections -Wl,--no-insert-timestamp "$@"
else
    set -- -Wl,-dead_strip "$@"
fi
# The writer of SBT can create files itself, in Linux's way. portable.c gives it a function to write to.
printf '#include <stdlib.h>\nvoid file_create(void);\nvoid file_create(void) {\n    abort();\n}\n' >"$out/objects/none.c"
$compiler -c "$out/objects/none.c" -o "$out/objects/none.o"
$compiler -o "$out/tracesmith$ending" "$out"/objects/*.o -L"$libraries/lib" "$@"
cp "$libraries"/licenses/* "$out/licenses/"
cp "$libraries/packages" "$out/packages"
# What the compiler links by itself is of Debian's packages, too.
[ "$system" = windows ] || exit 0
for archive in libmsvcrt.a libgcc.a; do
    owner=$(dpkg-query -S "$(readlink -f "$($compiler -print-file-name=$archive)")" | sed 's/[:,].*//')
    dpkg-query -W -f '${source:Package} ${source:Version}\n' "$owner" >"$out/objects/owner"
    read -r source version <"$out/objects/owner"
    cp "/usr/share/doc/$owner/copyright" "$out/licenses/$source"
    echo "$source $version" >>"$out/packages"
done
