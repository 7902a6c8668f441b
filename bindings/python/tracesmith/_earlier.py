# SPDX-License-Identifier: Apache-2.0
"""Command lines of the earlier package, for `tracesmith-cli`: each becomes commands of `tracesmith`, or says why it cannot be run.

_cli.main asks `translate` first. No line makes data up: what is recorded ran on a device.
"""
from __future__ import annotations

import os
import subprocess
import sys

# Runs a program again and again for a number of seconds.
_LOOP = ("import subprocess, sys, time\nend = time.monotonic() + float(sys.argv[1])\n"
         "while True:\n    status = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL).returncode\n"
         "    if status or time.monotonic() >= end:\n        sys.exit(status)\n")


def translate(program: str, words: list[str]) -> int | None:
    """The exit status of an earlier line, or None for a line that `tracesmith` takes as it is."""
    command, own = words[:1], _own(words)
    if command == ["info"] and not [word for word in words[1:] if not word.startswith("--")]:
        return _run(program, "--version") or _run(program, "devices")
    if command == ["record"]:
        return _record(program, words[1:])
    if command == ["benchmark"] and "--real-gpu" in own:
        return _run(program, *[word for word in words if word != "--real-gpu"])
    if command == ["profile"]:
        if "--perfetto" in own:
            return _profile(program, own, words[len(own):])
    return None


def _own(words: list[str]) -> list[str]:
    """Those that are not of the program that is profiled."""
    return words[: words.index("--")] if "--" in words else words


def _say(status: int, message: str) -> int:
    sys.stderr.write(f"tracesmith-cli: {message}\n")
    return status


def _run(program: str, *arguments: str) -> int:
    status = subprocess.run([program, *arguments]).returncode
    return status if status >= 0 else 128 - status


def _value(words: list[str], *names: str) -> str | None:
    for name in names:
        if name in words[:-1]:
            return words[words.index(name) + 1]
    return None


def _record(program: str, words: list[str]) -> int:
    """record -o FILE -d SECONDS [-p PLATFORM]: no program is named, so a loop of launches runs on this machine's device."""
    output, seconds, platform = (_value(words, *names) for names in (("-o", "--output"), ("-d", "--duration"), ("-p", "--platform")))
    try:
        duration = float(seconds or 5)
    except ValueError:
        return _say(2, f"record: -d needs a number of seconds, not {seconds!r}")
    if platform and platform.lower() not in ("opencl", "auto"):
        return _say(4, f"record: the loop of launches uses OpenCL, not {platform}; record a program with `tracesmith profile -- PROGRAM`")
    loop = os.path.join(os.path.dirname(os.path.dirname(program)), "libexec", "tracesmith", "tracesmith-launch-loop")
    _say(0, f"record: no program is named, so a loop of kernel launches runs on this machine's OpenCL device for {duration:g} s; "
            f"`tracesmith profile -- PROGRAM` records a program")
    return _run(program, "profile", "-o", output or "trace.sbt", "--", sys.executable, "-I", "-c", _LOOP, str(duration), loop, "10000")


def _profile(program: str, own: list[str], rest: list[str]) -> int:
    """profile --perfetto: the trace is exported, too."""
    output = _value(own, "-o", "--output") or "trace.sbt"
    status = _run(program, *[word for word in own if word != "--perfetto"], *rest)
    if not os.path.exists(output):
        return status
    place = output.removesuffix(".sbt") + ".perfetto-trace"
    exported = _run(program, "export", "-f", "perfetto", "-o", place, output)
    if exported == 0:
        _say(0, f"{place}: for ui.perfetto.dev")
    return status or exported
