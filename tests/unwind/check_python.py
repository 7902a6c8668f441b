# SPDX-License-Identifier: Apache-2.0
"""Python stacks as the agent reads them, against the interpreter's own: check_python.py PROBE_LIBRARY.

Runs on CPython 3.8 to 3.13; exits 1 with the differing stack when one differs. With PYTHONPERFSUPPORT (3.12 and newer) the
interpreter calls each Python function through generated code: the walk passes through it, and it stands for nothing of its own.
"""
import asyncio
import ctypes
import functools
import sys
import threading

SIZE = 1 << 20
held = ctypes.PyDLL(sys.argv[1])  # called with the interpreter lock held
released = ctypes.CDLL(sys.argv[1])  # and without it
for library in (held, released):
    library.probe_stack.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.probe_interned.restype = ctypes.c_ulong
checked = 0
has_trampolines = getattr(sys, "is_stack_trampoline_active", lambda: False)()
TRAMPOLINE = 1 << 61


def own_stack(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return stack


def ask(library):
    buffer = ctypes.create_string_buffer(SIZE)
    count = library.probe_stack(buffer, SIZE); own = own_stack(sys._getframe())
    return count, buffer.value.decode(errors="surrogatepass").splitlines(), own


def probe(expect_cut=False):
    """Both ways; returns the lines of the last."""
    global checked
    for library in (held, released):
        count, lines, own = ask(library)
        seen = []
        for line in lines:
            if line.startswith("python "):
                function, file, number = line[len("python "):].split("\t")
                seen.append((function, file, int(number)))
        if expect_cut:
            if count >= 0 or seen != own[:len(seen)] or len(seen) < 100:
                fail(f"cut: {len(seen)} of {len(own)} frames, count {count}", seen, own)
        elif count < 0 or seen != own:
            fail(f"count {count}", seen, own)
        if has_trampolines and not expect_cut:
            native = [int(line.split()[1], 16) for line in lines if line.startswith("native ")]
            if not library.probe_whole() or any(address & TRAMPOLINE for address in native):
                fail("not whole, or with trampolines: %s" % [hex(address) for address in native], seen, own)
        checked += 1
    return lines


def fail(what, seen, own):
    print(f"{sys.version}: {what}")
    for i in range(max(len(seen), len(own))):
        a = seen[i] if i < len(seen) else None
        b = own[i] if i < len(own) else None
        print("  " if a == b else "! ", a, b)
    sys.exit(1)


class Thing:
    def method(self):
        return probe()

    @staticmethod
    def static():
        return probe()

    @property
    def value(self):
        return probe()


def recursive(depth, expect_cut=False):
    return probe(expect_cut) if depth == 0 else recursive(depth - 1, expect_cut)


def generator():
    yield probe()
    yield from (probe() for _ in range(2))


async def coroutine(depth):
    if depth:
        return await coroutine(depth - 1)
    await asyncio.sleep(0)
    return probe()


def through_c():
    """Python, C, Python: the native frames between must stay between."""
    lines = []

    def key(item):
        lines[:] = probe()
        return item

    sorted([1], key=key)
    kinds = [line.split()[0] if line.startswith("native") else line.split("\t")[0].split(".")[-1] for line in lines]
    inner, outer = kinds.index("key" if "key" in kinds else "python key"), None
    for name in ("python through_c", "through_c"):
        if name in kinds:
            outer = kinds.index(name)
    if outer is None or "native" not in kinds[inner + 1:outer]:
        fail(f"no native frame between key and through_c: {kinds}", [], [])


def long_lines():
    """Code whose lines are far apart, go back, and are missing."""
    text = "def far():\n" + "\n" * 700 + "    x = [\n" + "\n" * 300 + "      probe(),\n" * 3 + "    ]\n" + "\n" * 40000
    text += "    y = (1 if probe() else\n" + "\n" * 130 + " 2)\n    for i in (1, 2):\n        probe()\n    return x\nfar()\n"
    exec(compile(text, "<made of lines>", "exec"), {"probe": probe})


def many_places():
    """More places than a thread keeps, twice, and code objects whose memory is used again."""
    for turn in range(3):
        for i in range(400):
            name = f"made_{turn}_{i}"
            scope = {"probe": probe}
            exec(compile("\n" * (i % 50) + f"def {name}():\n    return probe()\n", f"file {i % 7}", "exec"), scope)
            scope[name]()


def unicode_names():
    scope = {"probe": probe}
    for name in ("größe", "функция", "関数", "𝔣𝔲𝔫"):
        exec(compile(f"def {name}(): return probe()\n{name}()", f"/tmp/{name}/δ.py", "exec"), scope)


def in_thread():
    failures = []

    def run():
        try:
            recursive(5)
            Thing().method()
        except SystemExit:
            failures.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(1)


if not held.probe_look():
    print("no interpreter found")
    sys.exit(1)
probe()
Thing().method(), Thing.static(), Thing().value
(lambda: probe())()
recursive(50)
sys.setrecursionlimit(5000)
recursive(700, expect_cut=True)
list(generator())
[probe() for _ in range(2)]
functools.reduce(lambda a, b: probe(), [1, 2, 3])
list(map(lambda _: Thing().value, [1, 2]))
asyncio.run(coroutine(4))
through_c()
long_lines()
many_places()
unicode_names()
in_thread()
before = held.probe_interned()
for _ in range(100):
    held.probe_stack(ctypes.create_string_buffer(SIZE), SIZE)
if held.probe_interned() - before > 20:
    print(f"places are not kept: {held.probe_interned() - before} strings for 100 equal stacks")
    sys.exit(1)
print(f"{sys.version.split()[0]}{' with perf trampolines' if has_trampolines else ''}: {checked} stacks as the interpreter's own")
