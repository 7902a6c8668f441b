# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces, written field by field."""
import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields):
    """Of (number, value): an int is a varint, a float a fixed64, bytes and str have a length."""
    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def packet(*fields):
    return message((1, message(*fields)))


def event(time, fields, sequence=1, *more, extra=b""):
    return packet((8, time), (10, sequence), (11, message(*fields) + extra), *more)
