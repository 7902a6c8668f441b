#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that no walk can be right about end as they do without one, every launch is recorded, and unknown parts of
# a path are marked: code made at run time (with its names, where the program wrote them down), smashed stacks,
# libraries whose .eh_frame is damaged.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
: "${CC:?}"
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"
[ -z "$sanitize" ] || skip "the program overwrites its own stack"

"$CC" -O2 -fomit-frame-pointer -fno-stack-protector -DCL_TARGET_OPENCL_VERSION=300 -o "$work/hostile" \
    "$here/stacks/hostile.c" -lOpenCL
"$TRACESMITH" profile --stacks -o "$work/hostile.sbt" -- "$work/hostile" >"$work/launches" 2>"$work/err" ||
    fail "it ended with $?: $(cat "$work/err")"
"$TRACESMITH" view -f json --stacks "$work/hostile.sbt" >"$work/hostile.json"
python3 - "$work/hostile.json" "$(cat "$work/launches")" <<'PY'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["events"]
launches = {event["offset_x"]: event for event in events if event["kind"] == "kernel"}
assert len(launches) == int(sys.argv[2]), (len(launches), sys.argv[2])
assert all(launch.get("frames") for launch in launches.values())
paths = {n: [frame.get("function") for frame in launch["frames"]] for n, launch in launches.items()}
expected = ["launch", "generated_framed", "take_generated", "main"]
assert [f for f in paths[1] if f in expected or (f and "generated" in f)] == expected, paths[1]
assert "generated_unframed" in paths[2] and "main" not in paths[2], paths[2]
partial = sum(event["lost"] for event in events if event["kind"] == "loss" and event["reason"] == "partial_stack")
assert partial >= 1, "the path that ends in generated code is not counted as partial"
print("%d launches, %d partial stacks" % (len(launches), partial))
PY
rm -f "/tmp/perf-$(sed -n 's/.*perf-\([0-9]*\)\.map.*/\1/p' "$work/hostile.json" | head -n 1).map"

# The same paths as test_stacks.sh, through a library whose unwind information is nonsense in part.
compile() {
    output=$1 table=$2 seed=$3
    shift 3
    "$CC" -O2 -fomit-frame-pointer -fPIC -DFUNCTIONS_NAME="$table" -DSEED="$seed" -I"$here/stacks" "$@" \
        -o "$work/$output" "$here/stacks/functions.c"
}
compile libone.so functions_one 1 -shared
compile libtwo.so functions_two 2 -shared
compile plugin-3.so functions_plugin 3 -shared
compile plugin-4.so functions_plugin 4 -shared
compile functions.o functions_main 9 -c
"$CC" -O2 -fomit-frame-pointer -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=300 -rdynamic -pthread -I"$here/stacks" \
    -o "$work/main" "$here/stacks/main.c" "$work/functions.o" "$work/libone.so" "$work/libtwo.so" -lOpenCL -ldl \
    -Wl,-rpath,"$work"
mkdir "$work/good"
mv "$work/libone.so" "$work/libtwo.so" "$work/good"
for seed in 1 2 3; do
    for library in libone.so libtwo.so; do
        python3 - "$work/good/$library" "$work/$library" $seed <<'PY'
import random
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
headers, size, count, names = struct.unpack_from("<Q", data, 40) + struct.unpack_from("<HHH", data, 58)
sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + i * size) for i in range(count)]
text = sections[names][4]
chance = random.Random(int(sys.argv[3]))
for section in sections:
    name = bytes(data[text + section[0]:data.index(b"\0", text + section[0])])
    if name in (b".eh_frame", b".eh_frame_hdr"):
        for _ in range(section[5] // 12):
            data[section[4] + chance.randrange(section[5])] = chance.randrange(256)
open(sys.argv[2], "wb").write(data)
PY
    done
    "$TRACESMITH" profile --stacks -o "$work/bad.sbt" -b 16M -- "$work/main" "$work/truth" \
        "$work/plugin-3.so" "$work/plugin-4.so" >"$work/launches" 2>"$work/err" ||
        fail "with damaged unwind information it ended with $?: $(cat "$work/err")"
    "$TRACESMITH" info --json "$work/bad.sbt" >"$work/info.json"
    python3 - "$work/info.json" "$(cat "$work/launches")" <<'PY'
import json
import sys

info = json.load(open(sys.argv[1], encoding="utf-8"))
kernels = info["kinds"]["kernel"]
assert kernels == int(sys.argv[2]), (kernels, sys.argv[2])
assert info["lost"]["total"] == 0, info["lost"]
print("%d launches, %s" % (kernels, info["lost"]["by_reason"]))
PY
done
