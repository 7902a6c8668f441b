#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frame_rows.py ROWS FILE [EVERY]: compares what ROWS (tests/unwind/modules/rows.c) says of FILE's frames with what readelf
says, at the first and the last address of each row of every EVERYth function. FILE is x86-64's or aarch64's, and ROWS was
built for that."""
import re
import subprocess
import sys

NUMBERS = {"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7, "sp": 31}
X86_64, AARCH64 = 62, 183
# readelf calls the column of the return address "ra", for every register.
SHOWN = {X86_64: ["rbx", "rbp", "r12", "r13", "r14", "r15", "ra"],
         AARCH64: [f"x{number}" for number in range(19, 30)] + ["ra"]}


def machine_of(path):
    with open(path, "rb") as file:
        return int.from_bytes(file.read(20)[18:], "little")


def cfa_of(text):
    if text == "exp":
        return text
    name, offset = re.fullmatch(r"(\w+)([+-]\d+)", text).groups()
    return f"{NUMBERS.get(name, name[1:])}{int(offset):+d}"


def functions(path):
    """Yields (end, [(begin of row, row)]) for each function readelf knows."""
    process = subprocess.Popen(["readelf", "-W", "--debug-dump=frames-interp", path], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    end, columns, rows, shown = None, [], [], SHOWN[machine_of(path)]
    for line in process.stdout:
        words = re.sub(r" \(\w+\)", "", line).split()  # r9 (r9): a register by number and name
        if " FDE " in line or " CIE " in line or "terminator" in line:
            if end is not None and rows:
                yield end, rows
            rows, columns = [], []
            found = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            end = int(found.group(2), 16) if found else None
        elif words[:2] == ["LOC", "CFA"]:
            columns = words[2:]
        elif end is not None and columns and len(words) == len(columns) + 2:
            known = dict(zip(columns, words[2:]))
            cells = [known.get(name, "u") for name in shown]
            cells = ["u" if cell == "s" else cell for cell in cells]
            rows.append((int(words[0], 16), " ".join([cfa_of(words[1])] + cells)))
    if end is not None and rows:
        yield end, rows
    process.wait()


def main():
    rows_program, path = sys.argv[1:3]
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wanted = []
    for number, (end, rows) in enumerate(functions(path)):
        if number % every:
            continue
        for (begin, row), (after, _) in zip(rows, rows[1:] + [(end, None)]):
            if begin < after:
                wanted += [(begin, row), (after - 1, row)]
    if not wanted:
        sys.exit(f"{path}: readelf knows no function")
    asked = "".join(f"{address:x}\n" for address, _ in wanted)
    answers = subprocess.run([rows_program, path], input=asked, text=True, check=True,
                             stdout=subprocess.PIPE).stdout.splitlines()
    wrong = 0
    for (address, row), answer in zip(wanted, answers):
        if answer != f"{address:x} {row}":
            wrong += 1
            if wrong <= 10:
                print(f"{path}: readelf {address:x} {row}, ours {answer}")
    print(f"{path}: {len(wanted)} addresses, {wrong} differ")
    sys.exit(wrong != 0 or len(answers) != len(wanted))


if __name__ == "__main__":
    main()
