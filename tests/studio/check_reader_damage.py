# SPDX-License-Identifier: Apache-2.0
"""Damaged copies of traces in the reader for browsers: every request has an answer, of success or of failure, and none is a trap of the
module. Checksums of frames are made right again in most copies, so that the damage is not found by them alone.
usage: check_reader_damage.py READER WASM TRACE..."""
import os
import random
import struct
import subprocess
import sys
import tempfile

COPIES = 40


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def table():
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return rows


TABLE = table()


def frames(data):
    """Offset and stored length of the payload of each frame."""
    at = 64
    while at + 64 <= len(data) and data[at:at + 4] == b"SBTF":
        length = (struct.unpack_from("<Q", data, at + 16)[0] + 63) // 64 * 64
        if at + 64 + length > len(data):
            return
        yield at, length
        at += 64 + length


def damaged(data, is_mended):
    copy = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(64, len(copy))
        copy[at] = random.choice((0, 255, copy[at] ^ 1 << random.randrange(8), random.randrange(256)))
    if is_mended:
        for at, length in list(frames(data)):
            struct.pack_into("<I", copy, at + 56, crc32c(copy[at + 64:at + 64 + length]))
            struct.pack_into("<I", copy, at + 60, crc32c(copy[at:at + 60]))
    elif random.random() < 0.3:
        del copy[random.randrange(len(copy)):]
    return bytes(copy)


def main(reader, wasm, *traces):
    random.seed(23)
    lines, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for trace in traces:
            with open(trace, "rb") as file:
                data = file.read()
            if len(data) > 200000:
                continue
            for number in range(COPIES):
                path = os.path.join(folder, "%d.sbt" % count)
                with open(path, "wb") as file:
                    file.write(damaged(data, number % 3 != 0))
                count += 1
                lines += ["%s %s" % (path, request) for request in
                          ("open", "overview", "names?ids=1,2,3,4,5", *("tile/%d/%d/0" % (track, level) for track in range(1, 5)
                                                                       for level in (0, 6, 20, 40)))]
        out = subprocess.run(["node", reader, wasm], input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE,
                             check=True).stdout
    traps, read = [], 0
    for line in lines:
        head, _, out = out.partition(b"\n")
        status, length = map(int, head.split())
        answer, out = out[:length], out[length:]
        assert status in (200, 404, 500), (line, status)
        read += status == 200 and line.endswith(" overview")
        if b"The reader stopped" in answer:
            traps.append((line, answer))
    assert not out and not traps, traps[:3]
    assert read > count / 4, (read, count)
    print("%d damaged files, %d of them shown in part" % (count, read))


main(*sys.argv[1:])
