# SPDX-License-Identifier: Apache-2.0
"""Runs the proof of every line of goals.txt and prints what it showed.  usage: goals.py [--check]

A line is shown, not shown (a test skipped: its reason), missing (what it needs), or false. Exit code 1 if a line is false: a proof
failed, or what is said to be missing is there. --check runs nothing: it checks the table itself, that its tests exist, and, with
TRACESMITH_SEEDS (the folder of the documents), that it has a line for each of their promises.
Environment: TRACESMITH, TRACESMITH_BUILD_DIR, TRACESMITH_SOURCE_DIR.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SOURCE, BUILD, TRACESMITH = (os.environ[name] for name in ("TRACESMITH_SOURCE_DIR", "TRACESMITH_BUILD_DIR", "TRACESMITH"))
KINDS = ("test", "run", "figure", "needs")


def read_table():
    """(heading, promise, kind, argument) of each line; a "+" has the promise of the line before."""
    rows, heading, promise = [], "", ""
    with open(os.path.join(SOURCE, "tests", "goals.txt"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                heading = line.strip("[]")
                continue
            name, proof = line.split(" | ", 1)
            kind, _, argument = proof.partition(" ")
            if kind not in KINDS:
                sys.exit(f"goals.txt:{number}: no kind of proof: {kind}")
            promise = promise if name == "+" else name
            rows.append((heading, promise, kind, argument))
    return rows


# ---- the table itself

def tests_of(rows):
    return sorted({name for _, _, kind, argument in rows if kind == "test" for name in argument.split()})


def is_test(name):
    room, _, rest = name.partition(".")
    return any(os.path.exists(os.path.join(SOURCE, "tests", room, f"test_{rest}.{ending}")) for ending in ("c", "sh"))


def plain(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def promises_of(folder):
    """Lines that promise something: points of the phases, features, commands, kinds of tests, and rows of performance."""
    found = set()
    for path in glob.glob(os.path.join(folder, "*.txt")):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        found.update(re.findall(r"^- \[[x ]\] (.*)$", text, re.M))
        found.update(re.findall(r"^- \*\*([^*]+)\*\*.*:", text.partition("## Architecture")[0], re.M))
        found.update(re.findall(r"^\| `(\w+)` \|", text.partition("**Available Commands:**")[2].partition("**C++ CLI")[0], re.M))
        found.update(re.findall(r"^\W*([A-Z][\w ]+?) +\(\d+/\d+\)", text, re.M))
        performance = text.partition("### Performance Characteristics")[2].partition("###")[0]
        found.update(name.strip() for name in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", performance, re.M) if name not in ("Feature", "---"))
    return {promise for promise in found if plain(promise) and not promise.startswith("--")}


def check(rows):
    wrong = [f"no test {name}" for name in tests_of(rows) if not is_test(name)]
    wrong += [f"no figure {argument}" for _, _, kind, argument in rows if kind == "figure" and argument not in FIGURES]
    wrong += [f"no => in: {argument}" for _, _, kind, argument in rows if kind == "run" and "=>" not in argument]
    wrong += [is_there for is_there in map(there, rows) if is_there]
    folder = os.environ.get("TRACESMITH_SEEDS")
    if folder:
        have = {plain(promise) for _, promise, _, _ in rows}
        wanted = promises_of(folder)
        if len(wanted) < 50:
            wrong.append(f"only {len(wanted)} promises found in {folder}")
        wrong += [f"no line for: {promise}" for promise in sorted(wanted) if plain(promise) not in have]
    for line in wrong:
        print("goals.txt:", line)
    print(f"{len(rows)} proofs" + (f" for {len(promises_of(folder))} promises" if folder else ""))
    return 1 if wrong else 0


# ---- proofs

def there(row):
    """What is said to be missing and is not; None if it is missing, or for other rows."""
    _, promise, kind, argument = row
    pattern = argument.rpartition(" | ")[2] if kind == "needs" and " | " in argument else None
    found = glob.glob(os.path.join(SOURCE, "**", pattern), recursive=True) if pattern else []
    return f"{promise}: {found[0]} is there" if found else None


def command(*arguments):
    return subprocess.run([TRACESMITH, *arguments], capture_output=True, text=True, errors="replace", check=False)


class Proofs:
    def __init__(self, work):
        self.work = work
        self.place = {"work": work, "trace": os.path.join(work, "trace.sbt"), "recording": os.path.join(work, "recording.sbt")}
        self.tests, self.stacks = {}, None
        example = os.path.join(BUILD, "examples", "image_pipeline")
        for path, option in (("trace", "--stacks"), ("recording", "--capture")):
            done = command("profile", option, "-o", self.place[path], "--", example)
            if done.returncode != 0:
                sys.exit(f"goals: {example} could not be recorded: {done.stderr}")

    def run_tests(self, names):
        report = os.path.join(self.work, "tests.xml")
        subprocess.run(["ctest", "--test-dir", BUILD, "-j", str(os.cpu_count()), "--timeout", "600", "--output-junit", report,
                        "-R", "^(%s)$" % "|".join(map(re.escape, names))], stdout=subprocess.DEVNULL, check=False)
        for case in xml.etree.ElementTree.parse(report).getroot():
            output = (case.findtext("system-out") or "").strip().splitlines()
            last = output[-1] if output else ""
            self.tests[case.get("name")] = (case.get("status"), last)

    def test(self, argument):
        said, verdict = [], "shown"
        for name in argument.split():
            status, last = self.tests.get(name, ("absent", ""))
            if status != "run":
                verdict = "not shown" if status in ("notrun", "disabled") and verdict != "false" else "false"
                said.append(f"{name}: {last or status}")
        return verdict, "; ".join(said) or argument

    def run(self, argument):
        line, _, wanted = argument.partition("=>")
        arguments = [word.format_map(self.place) for word in shlex.split(line)]
        done = command(*arguments)
        good = done.returncode == 0 and re.search(wanted.strip(), done.stdout + done.stderr)
        return ("shown", "tracesmith " + line.strip()) if good else ("false", f"tracesmith {line.strip()}: exit {done.returncode}: "
                                                                     + (done.stderr or done.stdout)[-200:])

    def figure(self, argument):
        good, text = FIGURES[argument](self)
        return "shown" if good else "false", text

    def needs(self, argument):
        return "missing", argument.partition(" | ")[0]


def stacks(proofs):
    """Launches, each from another call path: all of them and their stacks are recorded, and the stacks are right."""
    if not proofs.stacks:
        done = command("benchmark", "-n", "10000", "--runs", "1", "--json")
        if done.returncode not in (0, 1):
            return False, done.stderr
        proofs.stacks = json.loads(done.stdout)
    answer, found = proofs.stacks, proofs.stacks["stacks"]
    good = answer["launches"] == answer["launches_recorded"] == found["stacks"] and found["right"] == found["checked"] and not answer["lost"]
    return good, (f"tracesmith benchmark -n 10000: {answer['launches_recorded']} of {answer['launches']} launches, {found['stacks']} stacks, "
                  f"{found['right']} of {found['checked']} right, {found['frames'] / found['stacks']:.0f} frames each, on {answer['device']}")


def emit(proofs):
    """A million events per second for two seconds: none is dropped."""
    done = subprocess.run([os.path.join(BUILD, "bench", "bench_session"), "1e6", "2", "1", "64", os.path.join(proofs.work, "emit.sbt")],
                          capture_output=True, text=True, check=False)
    return done.returncode == 0 and " dropped 0;" in done.stdout, "bench_session 1e6 2: " + " ".join(done.stdout.split())[:110]


def sizes(proofs, form, least):
    """How much smaller than Chrome JSON the other form is, in percent."""
    json_path, path = os.path.join(proofs.work, "sizes.json"), proofs.place["trace"]
    command("export", path, "-f", "chrome", "-o", json_path)
    if form != "sbt":
        other = os.path.join(proofs.work, "sizes." + form)
        command("export", path, "-f", form, "-o", other)
        path = other
    percent = 100 - 100 * os.path.getsize(path) / os.path.getsize(json_path)
    return percent >= least, f"{percent:.0f} % smaller than Chrome JSON"


FIGURES = {"stacks": stacks, "emit": emit,
           "sbt_size": lambda proofs: sizes(proofs, "sbt", 67),
           "perfetto_size": lambda proofs: sizes(proofs, "perfetto", 70)}


def main(rows):
    counts, last = {}, None
    with tempfile.TemporaryDirectory() as work:
        proofs = Proofs(work)
        proofs.run_tests(tests_of(rows))
        for row in rows:
            heading, promise, kind, argument = row
            verdict, text = getattr(proofs, kind)(argument)
            if there(row):
                verdict, text = "false", there(row)
            counts[verdict] = counts.get(verdict, 0) + 1
            if heading != last:
                print(f"\n{heading}")
            last = heading
            print(f"  {verdict:9}  {promise}: {text}")
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts.get("false") else 0


if __name__ == "__main__":
    table = read_table()
    sys.exit(check(table) if sys.argv[1:] == ["--check"] else main(table))
