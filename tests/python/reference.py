# SPDX-License-Identifier: Apache-2.0
"""Prints docs/python-api.md: what the docstrings of the installed package say. check_docs.py compares.

    python tests/python/reference.py > docs/python-api.md
"""
import importlib
import inspect
import re

import tracesmith as ts

HEAD = """# Python API

Made by `tests/python/reference.py` from the docstrings of the package; a test compares. [python.md](python.md) is the guide.
"""
MODULES = (("tracesmith.hta", ("TraceAnalysis",)), ("tracesmith.triton", ("launches", "Launches")),
           ("tracesmith.tvm", ("calls", "Calls")), ("tracesmith.dask", ("partial", "join", "answer", "ranks")))


def text(value):
    return inspect.cleandoc(value.__doc__ or "")


def signature(name, value):
    """The call as one writes it. Types are those of the stubs, as they are written there."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    parameters = [one for one in found.parameters.values() if one.name != "self"]
    # Before Python 3.14 the types are shown as texts in quotes.
    return name + re.sub(r"(: |-> )'((?:[^'\\]|\\.)*)'", r"\1\2", str(found.replace(parameters=parameters)))


def members(kind):
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            yield name, text(value)
        elif callable(value):
            yield signature(name, value), text(value)
        elif isinstance(value, staticmethod):
            yield signature(name, value.__func__), text(value.__func__)


def inherited(kind):
    """What the bases that are not public add, after its own."""
    public = {getattr(ts, name) for name in ts.__all__}
    seen = set()
    for one in kind.__mro__:
        if one is object or (one is not kind and (one in public or not one.__module__.startswith("tracesmith"))):
            continue
        for head, about in members(one):
            name = head.split("(")[0]
            if name not in seen:
                seen.add(name)
                yield head, about


def show(name, value):
    print(f"## {name}\n")
    if inspect.isclass(value):
        bases = [base.__name__ for base in value.__bases__ if base.__name__ not in ("object", "Answers")]
        if bases:
            print(f"A class; bases: {', '.join(f'`{base}`' for base in bases)}.\n")
        print(f"```text\n{text(value)}\n```\n")
        if issubclass(value, BaseException) or hasattr(value, "__members__"):
            if hasattr(value, "__members__"):
                print(", ".join(f"`{one}`" for one in value.__members__) + "\n")
            return
        for head, about in inherited(value):
            print(f"### {name}.{head.split('(')[0]}\n\n```text\n{head}\n\n{about}\n```\n")
    else:
        print(f"```text\n{signature(name, value)}\n\n{text(value)}\n```\n")


def main():
    print(HEAD)
    for name in sorted(ts.__all__, key=str.lower):
        if name != "__version__":
            show(name, getattr(ts, name))
    for module, names in MODULES:
        found = importlib.import_module(module)
        print(f"# Module {module}\n\n```text\n{text(found)}\n```\n")
        for name in names:
            show(name, getattr(found, name))


if __name__ == "__main__":
    main()
