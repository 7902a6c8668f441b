# SPDX-License-Identifier: Apache-2.0
"""Memory profiles of JAX: made ones, whose content is known, and one that JAX writes where it is installed."""
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from perfetto_wire import message  # noqa: E402
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()
SQL = """SELECT e.name, e.bytes, "Device Id" AS device, e.track_name, s.path, count(*) AS n, e.certainty FROM events e
    LEFT JOIN stacks s ON s.id = e.stack WHERE kind = 'alloc' GROUP BY 1, 2, 3, 4, 5, 7 ORDER BY e.bytes"""


def write(name, data):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def rows(path):
    return json.loads(run("query", "--json", "--no-cache", path, SQL).stdout)["results"][0]["rows"]


def profile(types, samples):
    """samples: (functions innermost first, count, bytes, kind, device)."""
    texts, functions, out = [""], {}, b""

    def text(value):
        if value not in texts:
            texts.append(value)
        return texts.index(value)

    for name, unit in types:
        out += message((1, message((1, text(name)), (2, text(unit)))))
    for names, count, size, kind, device in samples:
        ids = [functions.setdefault(name, len(functions) + 1) for name in names]
        labels = [(3, message((1, text(key)), (2, text(value)))) for key, value in (("kind", kind), ("device", device))]
        out += message((2, message(*[(1, i) for i in ids], (2, count), (2, size), *labels)))
    for name, number in functions.items():
        out += message((4, message((1, number), (4, message((1, number), (2, 10 + number))))))
        out += message((5, message((1, number), (2, text(name)), (4, text("/app/%s.py" % name)))))
    return out + message(*[(6, value.encode()) for value in texts])


def check_made():
    types = (("allocations", "count"), ("space", "bytes"))
    data = profile(types, [(("inner", "outer"), 3, 3000, "buffer", "cuda:1"), (("outer",), 1, 70, "executable", "cuda:1"),
                           (("inner",), 2, 4001, "buffer", "TFRT_CPU_0")])
    for path in (write("plain.prof", data), write("packed.prof", gzip.compress(data))):
        check([(r["name"], r["bytes"], r["device"], r["track_name"], r["path"], r["n"], r["certainty"]) for r in rows(path)] ==
              [("executable", 70, 1, "cuda:1", "outer", 1, "untimed"), ("buffer", 1000, 1, "cuda:1", "outer;inner", 3, "untimed"),
               ("buffer", 4001, 0, "TFRT_CPU_0", "inner", 1, "untimed")], "made: %s" % rows(path))
    done = run("info", write("cpu.prof", profile((("samples", "count"), ("cpu", "ns")), [(("a",), 1, 2, "x", "y")])), code=None)
    check(done.returncode and b"not a memory profile of JAX" in done.stderr, "another profile is refused: %s" % done.stderr)
    for cut in range(0, len(data), 7):
        done = run("info", write("cut.prof", data[:cut]), code=None)
        check(0 <= done.returncode < 10, "cut at %d: exit %d" % (cut, done.returncode))


PROGRAM = """
import jax, jax.numpy as jnp
def build(n):
    return [jnp.ones((100, 100 + i)) for i in range(n)]
kept = build(4) + build(4)
[array.block_until_ready() for array in kept]
jax.profiler.save_device_memory_profile(%r)
print(sum(array.nbytes for array in jax.live_arrays()), len(jax.live_arrays()))
"""


def check_real():
    if not importlib.util.find_spec("jax"):
        print("JAX is not installed")
        return
    path = os.path.join(FOLDER, "real.prof")
    done = subprocess.run([sys.executable, "-c", PROGRAM % path], stdout=subprocess.PIPE, env=dict(os.environ, JAX_PLATFORMS="cpu"),
                          check=False)
    if done.returncode:
        print("JAX does not run")
        return
    size, count = map(int, done.stdout.split())
    found = [row for row in rows(path) if row["name"] == "buffer"]
    check((sum(row["bytes"] * row["n"] for row in found), sum(row["n"] for row in found)) == (size, count), "JAX: %s" % found)
    check(all("build" in row["path"] for row in found), "JAX: stacks %s" % found)


check_made()
check_real()
