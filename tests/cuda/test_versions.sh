#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The layouts by the headers of every version of CUDA that './dev cupti --install' brings. Each field of layouts.tsv
# has its offset in the form that each version writes, from the version in the table on, and does not exist before it:
# a gate that opens too early reads what follows the record, and one that opens too late misses a field. The records
# that the mock writes have the sizes of their version, and the PC Sampling structs are those of each version.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${TRACESMITH_SOURCE_DIR:?}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/cupti
agent=$TRACESMITH_SOURCE_DIR/agents/cuda
[ -f "$cache/13.0/include/cupti.h" ] || { echo "skipped: CUPTI's headers are not in $cache (./dev cupti --install)"; exit 77; }
command -v "${CXX:-c++}" >/dev/null || { echo "skipped: no C++ compiler to ask whether a field exists"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The forms of records that a version declares; `form BASE`: the newest of them, which the library writes.
forms() {
    cat "$1"/cupti_activity*.h "$1"/cupti_callbacks.h |
        sed -n 's/^} *\(CU[pP][tT][iI]_[A-Za-z0-9_]*\);.*/\1/p; s/^} *\(CUpti_[A-Za-z0-9_]*\) *$/\1/p' | sort -u
}
# The newest of each: BASE FORM.
newest() {
    sort -V "$work/forms" | awk '{ base = $1; sub(/[0-9]*$/, "", base); form[base] = $1 } END { for (b in form) print b, form[b] }'
}

# For each row: OURS FORM FIELD OFFSET SINCE, where FORM is of this version ('-': it has none).
rows() {
    newest | awk -F '[ \t]' 'FILENAME == "-" { form[$1] = $2; next }
        /^#/ { next }
        { base = field = $2; sub(/[.].*/, "", base); sub(/[0-9]*$/, "", base); sub(/^[^.]*[.]/, "", field)
          print $1, base in form ? form[base] : "-", field, $3, $4 }' - "$here/layouts.tsv"
}

# KIND BASE: whose size the mock knows.
sizes() {
    cat <<'TABLE'
CONCURRENT_KERNEL Kernel
MEMCPY Memcpy
MEMCPY2 MemcpyPtoP
MEMSET Memset
DRIVER API
RUNTIME API
SYNCHRONIZATION Synchronization
MEMORY2 Memory
GRAPH_TRACE GraphTrace
DEVICE Device
CONTEXT Context
OVERHEAD Overhead
EXTERNAL_CORRELATION ExternalCorrelation
JIT Jit
UNIFIED_MEMORY UnifiedMemoryCounter
MEMORY_POOL MemoryPool
CUDA_EVENT CudaEvent
MEM_DECOMPRESS MemDecompress
DEVICE_GRAPH_TRACE DeviceGraphTrace
GRAPH_HOST_NODE GraphHostNode
HOST_LAUNCH HostLaunch
CONTEXT_SWITCH ComputeEngineCtxSwitch
GREEN_CONTEXT GreenContext
TABLE
}
# What the mock writes of a kind in a version: the last line of its table that the version has reached.
size_of() {
    awk -v kind="$1" -v version="$2" -F '[{}, ]+' '
        $2 == "CUPTI_KIND_" kind && $3 + 0 <= version + 0 && $3 + 0 >= since { since = $3 + 0; size = $4 }
        END { print size + 0 }' "$here/mock/cupti_layouts.c"
}

judge_present() {
    echo '#include <stddef.h>'
    echo '#include <cupti.h>'
    echo '#include "cupti.h"'
    while read -r ours theirs field offset since; do
        [ "$since" -le "$version" ] || continue
        [ "$theirs" != - ] || { echo "#error \"$ours: the form is not declared in version $version\""; continue; }
        echo "_Static_assert(offsetof($theirs, $field) == $offset, \"$theirs.$field\");"
        echo "_Static_assert(sizeof(((struct ${ours%%.*} *)0)->${ours#*.}) % sizeof((($theirs *)0)->$field) == 0, \"size of $theirs.$field\");"
    done <"$work/rows"
    # The mock plays each version with the sizes of that version.
    newest >"$work/newest"
    sizes | while read -r kind base; do
        theirs=$(sed -n "s/^CUpti_Activity$base //p" "$work/newest")
        size=$(size_of "$kind" "$version")
        # Version 18 is 11.8, 12.0 and 12.1, whose kernels differ in their last field.
        same='=='
        [ "$kind $version" != 'CONCURRENT_KERNEL 18' ] || same='<='
        [ "$size" -eq 0 ] || echo "_Static_assert($size $same sizeof($theirs), \"the mock's size of $kind, $theirs\");"
        [ "$size" -ne 0 ] || [ -z "$theirs" ] || echo "#error \"the mock has no $kind in version $version\""
    done
}

judge_absent() {
    cat <<'C'
#include <type_traits>
#include <utility>
#include <cupti.h>
#define ABSENT(number, form, field) \
    template <class T, class = void> struct has_##number : std::false_type {}; \
    template <class T> struct has_##number<T, std::void_t<decltype(std::declval<T &>().field)>> : std::true_type {}; \
    static_assert(!has_##number<form>::value, #form "." #field " is there before its version");
C
    number=0
    while read -r _ theirs field _ since; do
        number=$((number + 1))
        if [ "$since" -gt "$version" ] && [ "$theirs" != - ]; then
            echo "ABSENT($number, $theirs, $field)"
        fi
    done <"$work/rows"
}

# judge NAME HEADERS CUDA: with $version and the forms in $work/forms.
failed=0
judge() {
    rows >"$work/rows"
    judge_present >"$work/present-$1.c"
    judge_absent >"$work/absent-$1.cc"
    asserts=$(grep -c '_Static_assert' "$work/present-$1.c")
    [ "$asserts" -ge 200 ] || { echo "FAILED: $1: only $asserts comparisons"; failed=1; }
    ${CC:-cc} -fsyntax-only -w -I"$2" -I"$3" -iquote "$agent" "$work/present-$1.c" 2>"$work/said" ||
        { echo "FAILED: CUDA $1 (version $version):"; grep -E 'error' "$work/said"; failed=1; }
    ${CXX:-c++} -std=c++17 -fsyntax-only -w -I"$2" -I"$3" "$work/absent-$1.cc" 2>"$work/said" ||
        { echo "FAILED: CUDA $1 (version $version):"; grep -E 'error' "$work/said"; failed=1; }
}

checked=
for folder in "$cache"/[0-9]*; do
    name=${folder##*/}
    version=$(printf '#include <cupti_version.h>\nCUPTI_API_VERSION\n' | ${CC:-cc} -E -P -I"$folder/include" - | tail -1)
    forms "$folder/include" >"$work/forms"
    judge "$name" "$folder/include" "$cache/cuda-${name%%.*}/include"
    checked="$checked $name"
done

# CUDA 11.5 has no wheel. The headers of 11.7 keep the forms that it wrote, which 11.6 replaced.
version=16
forms "$cache/11.7/include" | grep -Evx 'CUpti_Activity(Kernel7|Memcpy5|MemcpyPtoP4|Memset4|Memory3|MemoryPool2|Device4|GraphTrace)' >"$work/forms"
judge 11.5-by-11.7 "$cache/11.7/include" "$cache/cuda-11/include"
echo "compared with the headers of CUDA$checked"
[ "$(echo "$checked" | wc -w)" -ge 15 ] || { echo "FAILED: there are too few versions in $cache"; failed=1; }
exit "$failed"
