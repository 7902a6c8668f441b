# SPDX-License-Identifier: Apache-2.0
"""Compares tests/analyze/sentences.txt with the sentences in the sources that make answers, and with the tests."""
import glob
import os
import re
import sys

ROOT = os.environ["TRACESMITH_SOURCE_DIR"]
TABLE = "tests/analyze/sentences.txt"
# The sources of the sentences of `analyze`, `diff`, `view --stats` and `info`; opened_trace.c reports how complete a
# trace is.
SOURCES = ("src/analyze/*.[ch]", "src/state/path_names.c", "src/api/analyze*.c", "cli/**/analyze*.c", "cli/**/diff.c",
           "cli/**/stats*.c", "cli/**/info.c", "cli/**/opened_trace.c")
# A refusal, a comparison or a label is no answer.
NO_ANSWER = {"status_set", "status_set_errno", "complain", "complain_command", "strcmp", "memmem", "_Static_assert", "label", "write_fact",
             "add_heading"}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|[A-Za-z_]\w*|\S', re.S)
DIRECTIVE = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z%]")


def literals(text):
    """Each string of a C source, adjacent ones joined, with the name of the call that it is an argument of."""
    calls, word, whole = [], "", None
    for found in TOKEN.finditer(re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.M)):
        token = found.group(0)
        if token.startswith(("/*", "//")) or token == "\\":
            continue
        if token[0] == '"':
            whole = (whole or "") + token[1:-1].replace('\\"', '"')
            continue
        if whole is not None and token.startswith("PRI"):
            whole += "d"
            continue
        if whole is not None:
            yield next((call for call in reversed(calls) if call), ""), whole
            whole = None
        if token in "([{":
            calls.append(word if token == "(" else "")
        elif token in ")]}" and calls:
            calls.pop()
        word = token if re.match(r"[A-Za-z_]", token) else ""


def is_sentence(text, least=3):
    """Words that assert something: no heading, question, list of names, or part of JSON or XML."""
    bare = DIRECTIVE.sub("", text).strip()
    if '":' in text or bare.startswith("<") or bare.endswith("?") or not re.search("[a-z]", bare):
        return False
    if re.fullmatch(r"[a-z_]+(, [a-z_]+)*", bare) or bare == "out of memory":
        return False
    return " " in bare and len(re.findall(r"[A-Za-z]{2,}", bare)) >= least


def name_of(path):
    """As the table has it: of the command's sources, which may move between folders, without the folder below cli/."""
    name = os.path.relpath(path, ROOT)
    return "cli/" + os.path.basename(name) if name.startswith("cli/") else name


def sentences():
    found = {}
    for pattern in SOURCES:
        paths = sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True))
        if not paths:
            sys.exit("no source is " + pattern)
        for path in paths:
            with open(path, encoding="utf-8") as file:
                source = file.read()
            # The tables of the command have sentences in pieces: "nothing ran".
            name = name_of(path)
            least = 2 if name.startswith("cli/") else 3
            texts = {text for call, text in literals(source) if call not in NO_ANSWER and is_sentence(text, least)}
            if texts:
                found[name] = texts
    return found


def rows():
    with open(os.path.join(ROOT, TABLE), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                cells = [cell.strip() for cell in line.rstrip("\n").split(" | ")]
                if len(cells) != 4 or not all(cells):
                    sys.exit("%s:%d: not SOURCE | SENTENCE | FALSE IF | TEST: %s" % (TABLE, number, line))
                yield number, cells


def test_is_there(test):
    """`room.name`, or `room.name: function` of the script that the test runs."""
    name, _, function = test.partition(": ")
    room, _, script = name.partition(".")
    folder = os.path.join(ROOT, "tests", room)
    if not any(os.path.isfile(os.path.join(folder, "test_%s.%s" % (script, end))) for end in ("sh", "c")):
        return False
    if not function:
        return True
    for path in glob.glob(os.path.join(folder, "*.py")) + glob.glob(os.path.join(folder, "test_%s.c" % script)):
        with open(path, encoding="utf-8") as file:
            if re.search(r"^(def|static void|static int|static bool) %s\(" % re.escape(function), file.read(), re.M):
                return True
    return False


def main():
    wrong = []
    wanted = sentences()
    used = {path: set() for path in wanted}
    if sum(map(len, wanted.values())) < 100:
        sys.exit("the sources are not read as they are written")
    for number, (source, piece, _, test) in rows():
        path = source if "/" in source else "src/analyze/" + source
        hits = {text for text in wanted.get(path, ()) if piece in text}
        if not hits:
            wrong.append("%s:%d: %s has no such sentence: %s" % (TABLE, number, path, piece))
        else:
            used[path] |= hits
        for one in test.split(", "):
            if not test_is_there(one):
                wrong.append("%s:%d: there is no test %s" % (TABLE, number, one))
    for path, texts in wanted.items():
        wrong += ["%s has no line for %s: %s" % (TABLE, path, text) for text in sorted(texts - used[path])]
    if sys.argv[1:] == ["--list"]:
        for path, texts in wanted.items():
            print(path, *sorted(texts), sep="\n    ")
        return
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
