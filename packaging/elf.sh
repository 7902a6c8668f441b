# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# To be read with '.': what stops a folder of programs and libraries from running elsewhere.

# elf_faults FOLDER GLIBC: prints lines "FILE: what is wrong". A file needs a C library of GLIBC at most; the paths for libraries lead
# into the folder; every library that is needed is in the folder or belongs to the C library. Libraries that only a vendor or a
# framework brings (cuBLAS, NVRTC, NCCL) may be missing.
elf_faults() {
    find "$1" -type f ! -name '*.gz' ! -name '*.md' | while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
        newest=$(objdump -T "$file" 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
        newest=${newest#GLIBC_}
        if [ -n "$newest" ] && [ "$(printf '%s\n%s\n' "$newest" "$2" | sort -V | tail -n 1)" != "$2" ]; then
            echo "$file: needs GLIBC_$newest, newer than $2"
        fi
        paths=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p')
        case ":$paths:" in
        ::) ! readelf -d "$file" 2>/dev/null | grep -q -E 'R(UN)?PATH' || echo "$file: its path for libraries is empty" ;;
        *::*) echo "$file: its path for libraries has an empty entry: $paths" ;;
        *:/*) echo "$file: its path for libraries is of this machine: $paths" ;;
        esac
        readelf -d "$file" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
            case $name in
            libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libutil.so.1 | ld-linux*) ;;
            libcuda.so.1 | libcublas.so.* | libnvrtc.so.* | libnccl.so.*) ;;
            *) [ -n "$(find "$1" -name "$name")" ] || echo "$file: needs $name, which is not in the folder" ;;
            esac
        done
    done
}
