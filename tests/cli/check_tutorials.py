# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a tutorial and compares what they print with what it shows.  usage: check_tutorials.py PAGE FOLDER (empty)

Blocks ```console have commands ("$ ...") and lines of their output, in order; "..." stands for any lines. Numbers and units of time and
size match any others: they differ from machine to machine. Blocks ```c NAME are written to that file.
"""
import re
import subprocess
import sys


def plain(text):
    """Numbers become N, a number with a unit N u, white space one space: output is wrapped at other places."""
    text = re.sub(r"-?\d[\d,.]*\d|-?\d", "N", text)
    text = re.sub(r"N ?(ns|us|ms|s|min|B|KiB|MiB|GiB)\b", "N u", text)
    return " ".join(text.split())


def blocks(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", file.read(), re.M | re.S)


def commands(block):
    """(command, lines shown) of a block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            found[-1][1].append(line)
    return found


def run(command, shown, folder):
    done = subprocess.run(["sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}: {done.stdout[-2000:]}")
    output, at = plain(done.stdout), 0
    for line in shown:
        if line.strip() == "...":
            continue
        wanted = plain(line)
        found = output.find(wanted, at)
        if found < 0:
            sys.exit(f"{command}: does not print, after what came before: {line}\n{done.stdout[-3000:]}")
        at = found + len(wanted)


def main(path, folder):
    count = 0
    for language, name, block in blocks(path):
        if language == "c" and name:
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(block)
        if language == "console":
            for command, shown in commands(block):
                run(command, shown, folder)
                count += 1
    if not count:
        sys.exit(f"{path}: no commands")
    print(f"{path.rsplit('/', 1)[-1]}: {count} commands")


main(*sys.argv[1:])
