#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/build_programs.sh TO CUDA [NVCC-OPTION...]: compiles the programs of programs/ into the folder TO, with
# the CUDA toolkit in CUDA. TO/logs/NAME.log keeps the compiler's messages. A program that needs a missing header is
# left out, and TO/logs/NAME.absent names the header. Exit code: 0 also when a program does not compile.
#
# CUDART=static|shared  how the CUDA runtime is linked (static)
# ONLY='NAME...'        only these
set -u
here=$(cd "$(dirname "$0")" && pwd)
to=$1 cuda=$2
shift 2
mkdir -p "$to/logs"
lib=$cuda/lib64
[ -d "$lib" ] || lib=$cuda/lib # as Python's packages have it

wanted() { case " ${ONLY-$1} " in *" $1 "*) return 0 ;; *) return 1 ;; esac }

# has NAME HEADER: whether the compiler finds the header that NAME includes.
has() {
    printf '#include <%s>\n' "$2" >"$to/logs/$1.probe.c"
    if "${CC:-cc}" -E -I "$cuda/include" -I "$cuda/extras/CUPTI/include" -I "$cuda/../cuda_cupti/include" "$to/logs/$1.probe.c" >/dev/null 2>&1; then
        rm -f "$to/logs/$1.probe.c"
        return 0
    fi
    rm -f "$to/logs/$1.probe.c"
    echo "the header $2 is not there" >"$to/logs/$1.absent"
    return 1
}

compile() { # NAME SOURCE OPTION...
    name=$1 source=$2
    shift 2
    for with in "$options" ""; do
        # shellcheck disable=SC2086 # options are words
        "$cuda/bin/nvcc" $with -O2 -lineinfo -std=c++17 -cudart "${CUDART:-static}" -Wno-deprecated-gpu-targets -Xcompiler -static-libgcc \
            -Xcompiler -static-libstdc++ -L"$lib" -o "$to/$name" "$source" "$@" >"$to/logs/$name.log" 2>&1 && return 0
    done
    return 1
}

# plain NAME OPTION...: a C program or library that includes NVIDIA's headers and opens its libraries by name.
plain() {
    name=$1
    shift
    source=$here/programs/${name#lib}
    "${CC:-cc}" -O2 -w -I "$cuda/include" -I "$cuda/extras/CUPTI/include" -I "$cuda/../cuda_cupti/include" -o "$to/$name" \
        "${source%.so}.c" "$@" -ldl >"$to/logs/${name%.so}.log" 2>&1
}

options=$*
for source in "$here"/programs/*.cu; do
    name=$(basename "$source" .cu)
    wanted "$name" || continue
    case $name in
    runtime_compiled) has "$name" nvrtc.h && compile "$name" "$source" -lnvrtc -L"$lib/stubs" -lcuda & ;;
    cublas) has "$name" cublas_v2.h && compile "$name" "$source" -lcublas & ;;
    nvtx) has "$name" nvtx3/nvToolsExt.h && compile "$name" "$source" -ldl & ;;
    collectives) has "$name" nccl.h && compile "$name" "$source" -lnccl & ;;
    launches)
        compile "$name" "$source" &
        # The same loop inside another program: PyTorch, with its own profiler.
        compile liblaunches.so "$source" -shared -Xcompiler -fPIC &
        ;;
    *) compile "$name" "$source" & ;;
    esac
done
if wanted cupti_only && has cupti_only cupti.h; then plain libcupti_only.so -shared -fPIC; fi
# NVIDIA's header for it is C++.
if wanted pm_sampling && has pm_sampling cupti_pmsampling.h; then
    "${CXX:-c++}" -std=c++20 -O2 -w -I "$cuda/include" -I "$cuda/extras/CUPTI/include" -I "$cuda/../cuda_cupti/include" -static-libgcc -static-libstdc++ \
        -o "$to/pm_sampling" "$here/programs/pm_sampling.cc" -ldl >"$to/logs/pm_sampling.log" 2>&1
fi
for name in clock replay_probe driver_launches; do
    if wanted $name && has $name cuda.h; then plain $name; fi
done
if wanted driver_launches && has driver_launches cuda.h; then plain libdriver_launches.so -shared -fPIC; fi
wait
