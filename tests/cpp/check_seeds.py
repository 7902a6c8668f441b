# SPDX-License-Identifier: Apache-2.0
"""The C++ snippets that the documents of the earlier library show compile without a warning and run: for test_seeds.sh.

seeds/*.cpp have their statements without the prose. "// refuses: WORDS" is an UnsupportedError that says so. TRACESMITH_SEEDS: a
folder with the documents; then each snippet that is found there must be one of them.

check_seeds.py INCLUDE-AND-LINK-FLAG...
"""
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
WARNINGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
FIRST = "#include <tracesmith/tracesmith.hpp>"


def statements(code):
    """The text without comments and spaces."""
    return re.sub(r"\s+", "", re.sub(r"//.*", "", code))


def program(code):
    """A program of a snippet; one without main() gets one."""
    if "int main()" in code:
        return code
    lines = code.splitlines()
    head = [line for line in lines if line.startswith("#include")]
    return "\n".join([*head, "int main() {", *(line for line in lines if line not in head), "}", ""])


def is_code(line):
    return line.strip() == "" or line.strip().startswith(("//", "#include")) or line.rstrip().endswith((";", "{", "}"))


def found(text):
    """The snippets of a document: fenced, or with their fences and their indentation lost."""
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        if line != FIRST:
            continue
        taken, depth, main = [], 0, False
        for line in lines[begin:]:
            if line.startswith("```") or not is_code(re.sub(r"; +//.*", ";", line)) or (taken and line == FIRST):
                break
            taken.append(line)
            bare = re.sub(r"//.*", "", line)
            main = main or bare.startswith("int main()")
            depth += bare.count("{") - bare.count("}")
            if main and depth == 0:
                break
        yield "\n".join(taken)


def run(compiler, name, code, flags):
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, name), os.path.join(folder, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program(code))
        subprocess.run([compiler, *WARNINGS, "-o", binary, source, *flags], check=True)
        done = subprocess.run([binary], cwd=folder, capture_output=True, text=True)
        refusal = re.search(r"// refuses: (.*)", code)
        if refusal:
            assert done.returncode != 0 and "tracesmith::UnsupportedError" in done.stderr and refusal.group(1) in done.stderr, done
        else:
            assert done.returncode == 0, done
            made = [path for path in os.listdir(folder) if path.startswith("trace.")]
            assert len(made) == 1, made
            command = [os.environ["TRACESMITH"], "info", os.path.join(folder, made[0])]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        # Nothing used a GPU, and nothing is made up.
        assert "GPU Utilization" not in done.stdout or "GPU Utilization: nan\nMax Concurrent Ops: 0\n" in done.stdout, done
    print(f"{compiler}: {name}: {'refused' if refusal else 'ran'}")


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # of the programs that an exception ends
    compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
    assert compilers
    known, jobs = {}, []
    for path in sorted(glob.glob(os.path.join(HERE, "seeds", "*.cpp"))):
        with open(path, encoding="utf-8") as file:
            code = file.read()
        known[statements(code)] = os.path.basename(path)
        jobs.append((os.path.basename(path), code))
    with ThreadPoolExecutor(len(compilers)) as pool:
        for done in [pool.submit(run, compiler, name, code, sys.argv[1:]) for name, code in jobs for compiler in compilers]:
            done.result()
    if not os.environ.get("TRACESMITH_SEEDS"):
        return
    count = 0
    for path in sorted(glob.glob(os.path.join(os.environ["TRACESMITH_SEEDS"], "*"))):
        with open(path, encoding="utf-8") as file:
            for code in found(file.read()):
                assert statements(code) in known, (path, code)
                print(f"{os.path.basename(path)}: {known[statements(code)]}")
                count += 1
    assert count >= len(known), count


main()
