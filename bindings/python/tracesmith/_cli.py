# SPDX-License-Identifier: Apache-2.0
"""The commands `tracesmith` and `tracesmith-cli`, and `python -m tracesmith`: the program in this package.

`tracesmith-cli` also takes the command lines of the earlier package (_earlier.py). `python -m tracesmith run` is short for `tracesmith profile -- python`.
"""
import os
import sys


def command():
    """The path of the program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tracesmith")


_RUN = """usage: python -m tracesmith run [-o FILE] [--OPTION[=VALUE]...] SCRIPT [ARGUMENT...]
       python -m tracesmith run [-o FILE] [--OPTION[=VALUE]...] -m MODULE [ARGUMENT...]

Runs a Python program and records it from its first instruction: the same as
`tracesmith profile [-o FILE] [OPTION...] -- python SCRIPT`. Options are those of
`tracesmith profile`."""


def run_arguments(words):
    """The arguments of `tracesmith profile` for the words after `run`. Raises ValueError without a program."""
    words = list(words)
    options = []
    while words and words[0].startswith("-") and words[0] not in ("-m", "--", "-"):
        word = words.pop(0)
        options.append(word)
        if word in ("-o", "--output"):
            if not words:
                raise ValueError(f"{word} needs a file")
            options.append(words.pop(0))
    if words and words[0] == "--":
        words.pop(0)
    if not words or words == ["-m"]:
        raise ValueError("no program was named")
    return ["profile", *options, "--", sys.executable, *words]


def main():
    """Becomes the program, with the arguments of this process."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        if arguments[1:] in (["-h"], ["--help"]):
            print(_RUN)
            return
        try:
            arguments = run_arguments(arguments[1:])
        except ValueError as error:
            sys.stderr.write(f"tracesmith: {error}\n{_RUN}\n")
            sys.exit(2)
    program = command()
    if os.path.basename(sys.argv[0]) == "tracesmith-cli":
        from tracesmith._earlier import translate

        status = translate(program, arguments)
        if status is not None:
            sys.exit(status)
    try:
        os.execv(program, ["tracesmith", *arguments])
    except OSError as error:
        sys.exit(f"tracesmith: {program} could not be run: {error.strerror}")
