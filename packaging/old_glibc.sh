# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# To be read with '.': the compiler of packages for older C libraries (tarball.sh, wheel.sh). Sets glibc.
# shellcheck disable=SC2034 # glibc is for those who read it
glibc=2.28

# old_glibc_compiler FILE ZIG: writes a command that compiles with zig, and links with the symbols that this glibc had. zig's linker has no
# --exclude-libs; what is in the archives of agents is hidden by itself (tests/packages/tarball.sh compares).
old_glibc_compiler() {
    cat >"$1" <<COMMAND
#!/bin/sh
for argument; do
    shift
    [ "\$argument" = -Wl,--exclude-libs,ALL ] || set -- "\$@" "\$argument"
done
exec "$2" cc -target x86_64-linux-gnu.$glibc -Wno-enum-float-conversion "\$@"
COMMAND
    chmod +x "$1"
}
