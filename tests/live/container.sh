# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# container ROOT COMMAND...: runs it with the folder ROOT as its root, in mount, PID and user namespaces of its own, as the container
# engines do: the system's files read-only, /tmp and /dev/shm of its own, and nothing else of this machine.
set -eu
PATH=$PATH:/usr/sbin:/sbin
root=$1
shift
for name in usr bin lib lib64 etc; do
    if [ -L "/$name" ]; then
        ln -s "$(readlink "/$name")" "$root/$name"
    elif [ -d "/$name" ]; then
        mkdir "$root/$name"
        mount --rbind "/$name" "$root/$name"
    fi
done
mkdir "$root/proc" "$root/sys" "$root/tmp" "$root/dev" "$root/old" "$root/opt"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/shm"
mount -t tmpfs -o "mode=1777${SHM_OPTIONS-}" tmpfs "$root/dev/shm"
mount --rbind /sys "$root/sys"
for name in null zero urandom; do
    : >"$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
# Folders that are links out of the container.
[ -z "${LINKS-}" ] || { umount "$root/tmp" "$root/dev/shm" && rmdir "$root/tmp" "$root/dev/shm" && ln -s /opt "$root/tmp" && ln -s /opt "$root/dev/shm"; }
cp -r "$PROGRAMS_FOR_CONTAINER"/. "$root/opt"
mount --rbind "$root" "$root"
cd "$root"
pivot_root . old
umount -l /old
cd /
exec env -i PATH=/usr/bin:/bin HOME=/tmp TMPDIR=/tmp "$@"
