# SPDX-License-Identifier: Apache-2.0
"""Adds a field, an import format, an analysis and an agent to a copy of the tree, each by an edit of the files that the table
of ARCHITECTURE.md ("Where a change goes") names.

    change_table.py apply TREE         edits the tree; fails if an edit is in a file that the row does not name, or if a row
                                       names a file that the edit does not need
    change_table.py generated TREE     the generated files that the rows name, a line each
    change_table.py field PIPELINE     the new field of a profiled examples/image_pipeline is what the program did
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

CHANGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "changes")
HEADING = "## Where a change goes"


class Tree:
    """The copy; remembers which files an edit touched."""

    def __init__(self, root):
        self.root = root
        self.touched = set()

    def path(self, name):
        self.touched.add(name)
        return os.path.join(self.root, name)

    def add(self, name, source):
        path = self.path(name)
        if os.path.exists(path):
            sys.exit("%s is in the tree already" % name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(source if os.path.isabs(source) else os.path.join(CHANGES, source), path)

    def insert(self, name, before, text):
        """Puts the text in front of the one place that the expression matches."""
        self.change(name, before, lambda match: text + match.group(0))

    def change(self, name, expression, replacement):
        path = self.path(name)
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        edited, count = re.subn(expression, replacement, whole, flags=re.M)
        if count != 1:
            sys.exit("%s: %d places match %s, not one" % (name, count, expression))
        with open(path, "w", encoding="utf-8") as file:
            file.write(edited)

    def update_readme(self, table):
        """Writes the rows of tests/<table>.txt into README.md."""
        subprocess.run([os.path.join(self.root, "tests/build/test_%s.sh" % table), "--update"], check=True,
                       env=dict(os.environ, TRACESMITH_SOURCE_DIR=self.root))


def add_field(tree):
    """In how many dimensions an OpenCL kernel was launched."""
    schema = "include/tracesmith/schema.h"
    with open(os.path.join(tree.root, schema), encoding="utf-8") as file:
        table = re.search(r"#define TSMITH_FIELD_TABLE(.*?)\n\n", file.read(), re.S).group(1)
    number = max(int(row) for row in re.findall(r"X\(\w+, (\d+),", table)) + 1
    last = re.escape(table.rsplit("\n", 1)[1])
    tree.change(schema, last, lambda match: '%s \\\n    X(DIMENSIONS, %d, "dimensions", U64, "", "dimensions of the launch")'
                % (match.group(0), number))
    tree.change("bindings/rust/tracesmith-sys/src/bindings.rs", r"^pub const TSMITH_FIELD_%s: .*$" % re.findall(r"X\((\w+),", table)[-1],
                lambda match: "%s\npub const TSMITH_FIELD_DIMENSIONS: tsmith_field = %d;" % (match.group(0), number))
    parts = "agents/opencl/record_parts.h"
    for words in ("KERNEL_1D_WORDS", "KERNEL_WORDS"):
        tree.change(parts, r"^#define %s\(WORD\) +\\$" % words,
                    lambda match: match.group(0) + "\n    WORD(dimensions, TSMITH_FIELD_DIMENSIONS, RECORD_VALUE) \\")
    for words in ("kernel_1d_words", "kernel_words"):
        tree.change("agents/opencl/launch.c", r"RECORD_SET\(body, %s," % words,
                    lambda match: match.group(0) + " .dimensions = dimensions,")


def add_format(tree):
    """Toy traces: lines of text."""
    tree.add("src/import/toy/toy.c", "toy.c")
    tree.add("src/import/toy/toy.h", "toy.h")
    tree.insert("src/import/formats.c", r'^#include "import/xctrace/xctrace.h"$', '#include "import/toy/toy.h"\n')
    tree.insert("src/import/formats.c", r'^    \{\.name = "xctrace-xml",$',
                '    {.name = "toy-text",\n     .title = "a toy trace",\n     .extensions = ".toy",\n'
                '     .doc = "Toy traces: every range",\n     .fuzz = "toy",\n     .stage = IMPORT_BYTES,\n'
                '     .probe = toy_probe,\n     .open = toy_open},\n')
    tree.insert("docs/sources.md", r"^\| `xray` \|", "| `toy-text` (.toy) | toys | every range |\n")
    tree.insert("tests/formats.txt", r"^Chakra ", "Toy traces | yes | no | toy-text |\n")
    tree.update_readme("formats")
    tree.add("fuzz/fuzz_import_toy.c", "fuzz_import_toy.c")
    tree.add("fuzz/corpus/import_toy/sample.toy", "sample.toy")
    tree.add("tests/import/test_toy.sh", "test_toy_format.sh")


def add_analysis(tree):
    """How many events of each kind there are."""
    tree.add("src/analyze/event_kinds.c", "event_kinds.c")
    tree.change("src/analyze/analysis.h", r"^    X\((\w+)\)$", r"    X(\1) \\\n    X(event_kinds)")
    tree.insert("docs/analyses.md", r"^## `memory`$",
                "## `event_kinds`\n\nWhich kinds of events does the trace have?\n\n| table | columns |\n|---|---|\n"
                "| `event_kinds` | `kind`, `events` |\n\nThe number of events of each kind.\n\n")
    tree.add("tests/reference/event_kinds.py", "event_kinds.py")
    tree.insert("tests/analyze/sentences.txt", r"\Z",
                "event_kinds.c | kinds with at least one event | a kind is left out | analyze.corpus\n"
                "event_kinds.c | were recorded | a kind is left out | analyze.corpus\n")


def add_agent(tree):
    """The agent of docs/new-agent.md, as an agent of the tree."""
    example = os.path.join(tree.root, "examples/new_agent")
    tree.add("agents/toy/agent.c", os.path.join(example, "agent.c"))
    tree.add("agents/toy/toy_gpu.h", os.path.join(example, "toy_gpu.h"))
    tree.insert("src/launch/agent_table.c", r'^    \{\.api = "nvtx",',
                '    {.api = "toy", .doc = "The toy GPU", .variable = "TOY_GPU_TOOL"},\n')
    tree.insert("CMakeLists.txt", r"^tracesmith_add_agent\(nvml\)$", "tracesmith_add_agent(toy)\n")
    tree.insert("tests/build/test_symbols.sh", r"^    libtracesmith-xray\.so\) ",
                "    libtracesmith-toy.so) entry='toy_tool_start' ;;\n")
    tree.add("tests/toy/test_toy.sh", "test_toy_agent.sh")
    tree.insert("tests/vendors.txt", r"^Level Zero \(",
                "Toy GPU ([docs](docs/new-agent.md)) | toy | calls | its toy library | real | toy.toy\n")
    tree.update_readme("vendors")


# The first cell of the row, what the row's <names> are here, and the edit.
ROWS = (
    ("a field of an event", {"api": "opencl"}, add_field),
    ("an import format", {"format": "toy"}, add_format),
    ("an analysis", {"name": "event_kinds"}, add_analysis),
    ("an agent", {"api": "toy"}, add_agent),
)


def row_paths(root, row, names):
    """The files and folders that a row names, and those of them that are generated: after the semicolon."""
    with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as file:
        section = file.read().split(HEADING, 1)[1]
    found = re.search(r"^\| %s \| (.*) \|$" % re.escape(row), section, re.M)
    if not found:
        sys.exit("ARCHITECTURE.md: the section '%s' has no row '%s'" % (HEADING, row))
    edited, _, generated = found.group(1).partition(";")
    if generated and "generated" not in generated:
        sys.exit("ARCHITECTURE.md: %s: what is after the semicolon is not said to be generated" % row)

    def paths(text):
        words = re.findall(r"`([^`]+)`", text)
        return [re.sub(r"<(\w+)>", lambda match: names[match.group(1)], word) for word in words if re.search(r"[/.]", word)]
    return paths(edited), paths(generated)


def apply(root):
    wrong = []
    for row, names, edit in ROWS:
        tree = Tree(root)
        edit(tree)
        named, _ = row_paths(root, row, names)
        covers = {path: [name for name in tree.touched if name == path or path.endswith("/") and name.startswith(path)]
                  for path in named}
        missing = tree.touched - {name for names in covers.values() for name in names}
        here = ["%s: the row does not name %s" % (row, name) for name in sorted(missing)]
        here += ["%s: the row names %s, which needs no edit" % (row, path) for path in named if not covers[path]]
        print("%s: %d files%s" % (row, len(tree.touched), "" if here else ", those that its row names"))
        wrong += here
    print(*wrong, sep="\n")
    return bool(wrong)


def generated(root):
    print(*sorted({path for row, names, _ in ROWS for path in row_paths(root, row, names)[1]}), sep="\n")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def check_field(pipeline):
    """SQL and JSON have the field, and its values are the dimensions that pipeline.c launches with."""
    tracesmith, trace = os.environ["TRACESMITH"], os.path.join(os.environ["WORK"], "pipeline.sbt")
    counted = json.loads(run(tracesmith, "profile", "--api", "opencl", "-o", trace, "--", pipeline, "--json", "--frames", "4",
                             "--size", "64x64", "--devices", "1"))
    # Of the kernels in pipeline.c, those that do not work on the image are launched in one dimension.
    wanted = {(name, 1 if name in ("luminance_histogram", "choose_exposure") else 2): count
              for name, count in counted["kernels"].items()}
    sql = json.loads(run(tracesmith, "query", "--json", trace,
                         "SELECT name, dimensions, count(*) AS launches FROM kernel GROUP BY name, dimensions"))
    rows = {(row["name"], row["dimensions"]): row["launches"] for row in sql["results"][0]["rows"]}
    events = json.loads(run(tracesmith, "view", "--json", "-t", "kernel", trace))["events"]
    seen = collections.Counter((event["name"], event.get("dimensions")) for event in events)
    if rows != wanted or seen != wanted:
        sys.exit("launches by name and dimensions: %s in SQL, %s in JSON, %s in the program" % (rows, seen, wanted))


def main():
    command, argument = sys.argv[1:]
    return {"apply": apply, "generated": generated, "field": check_field}[command](argument)


sys.exit(main())
