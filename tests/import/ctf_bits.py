# SPDX-License-Identifier: Apache-2.0
"""Encoding of CTF, bit by bit. check_ctf.py and check_ctf1.py write their traces with it."""


class Bits:
    """The bits of a packet, in the order in which the specification reads them."""

    def __init__(self):
        self.data = bytearray()
        self.at = 0

    def align(self, alignment):
        self.at = (self.at + alignment - 1) // alignment * alignment
        self.grow()

    def grow(self):
        self.data.extend(bytes((self.at + 7) // 8 - len(self.data)))

    def put(self, value, length, big, last_to_first):
        for i in range(length):
            bit = value >> ((length - 1 - i) if last_to_first else i) & 1
            index, shift = self.at // 8, (7 - self.at % 8) if big else self.at % 8
            self.at += 1
            self.grow()
            self.data[index] |= bit << shift

    def raw(self, data):
        self.align(8)
        self.data.extend(data)
        self.at += 8 * len(data)
