# SPDX-License-Identifier: Apache-2.0
"""check_gunzip.py PROGRAM: decodes files with both decoders of src/import/gunzip.h (PROGRAM is tests/import/test_gunzip.c) and with
Python's gzip module, which reads headers and trailers itself. Whole files made by the gzip module and the command gzip, files cut at every
byte, with every bit changed, and with bytes behind the last member."""
import gzip
import io
import random
import shutil
import struct
import subprocess
import sys
import zlib

RESERVED_FLAGS = 0xe0  # zlib refuses them, Python does not look


def texts(source):
    """Bytes that become stored, short, repetitive and long blocks."""
    noise = source.randbytes(70000)
    words = b"".join(source.choice([b'{"ph":"X",', b'"name":"kernel",', b'"ts":%d,' % source.randrange(10**9), b"}\n"]) for _ in range(20000))
    return [b"", b"a", b"a" * 300000, noise, words, noise[:32768] + noise[:32768] + noise[:33000], bytes(100000) + words[:5000]]


def by_command(data, level):
    return subprocess.run(["gzip", "-c", f"-{level}"], input=data, capture_output=True, check=True).stdout


def whole_files():
    source = random.Random(1)
    data = texts(source)
    files = [gzip.compress(text, level) for text in data for level in (0, 1, 6, 9)]
    if shutil.which("gzip"):
        files += [by_command(text, level) for text in data for level in (1, 9)]
    for count in (2, 5, 60):  # members
        files.append(b"".join(gzip.compress(source.choice(data)[:source.choice([0, 1, 50, 65280])], source.choice([0, 1, 9])) for _ in range(count)))
    blocks = zlib.compressobj(6, zlib.DEFLATED, 31)  # each with its own code
    files.append(b"".join(blocks.compress(text) + blocks.flush(source.choice([zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH])) for text in data) + blocks.flush())
    files.append(files[5] + bytes(1000))  # padding
    return files


def small_file():
    out = io.BytesIO()
    with gzip.GzipFile("a name", "wb", fileobj=out, mtime=1) as file:
        file.write(b'{"ph":"X","name":"gemm","ts":17},' * 20 + bytes(range(120)))
    return out.getvalue(), gzip.compress(b"second member", 0)


def by_python(packed):
    """What the file has; None where it is damaged, or stops early."""
    try:
        return gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        return None


def by_program(program, decoder, files):
    """Of each file whether it is whole, and its bytes. None: this decoder is not installed."""
    sent = b"".join(struct.pack("=I", len(one)) + one for one in files)
    done = subprocess.run([program, decoder], input=sent, stdout=subprocess.PIPE)
    if done.returncode == 77:
        return None
    assert done.returncode == 0, f"{decoder}: exit {done.returncode}"
    answers, at = [], 0
    while at < len(done.stdout):
        whole, size = struct.unpack_from("=BI", done.stdout, at)
        answers.append((bool(whole), done.stdout[at + 5:at + 5 + size]))
        at += 5 + size
    assert len(answers) == len(files)
    return answers


def main():
    program = sys.argv[1]
    first, second = small_file()
    small, flags_at = first + second, {3, len(first) + 3}
    cut = [small[:size] for size in range(1, len(small))]
    changed = [small[:bit // 8] + bytes([small[bit // 8] ^ 1 << bit % 8]) + small[bit // 8 + 1:] for bit in range(len(small) * 8)]
    behind = [small + tail for tail in (b"x", b"\0\0x", b"\x1f", b"\x1f\x8b\x07", small[:30])]
    whole = whole_files()
    files = whole + cut + changed + behind
    expected = [by_python(one) for one in files]
    assert None not in expected[:len(whole)]
    for decoder in "zlib", "isal":
        answers = by_program(program, decoder, files)
        if answers is None:
            print("libisal.so.2 of 2.30 or later is not installed: only zlib was compared")
            continue
        flags = 0
        for at, (data, (is_whole, found)) in enumerate(zip(expected, answers)):
            if is_whole:
                assert found == data, f"{decoder}: file {at} is whole, and differs from Python's"
            elif data is not None:
                reserved = len(files[at]) == len(small) and any(files[at][flag] & RESERVED_FLAGS for flag in flags_at)
                assert reserved, f"{decoder}: file {at} is said to be damaged"
                flags += 1
        assert flags == 6, f"{decoder}: {flags} files with reserved flags"
        print(f"{decoder}: {len(files)} files as Python's gzip has them")


main()
