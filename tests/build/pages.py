#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py ROOT: the documents of ROOT are connected. Every page of docs/ is in docs/README.md, every relative link of a
document leads to a file (and to a heading of it), and every path of the source that a document names in backticks exists.
Prints what is wrong, and exits with 1."""

import os
import re
import sys

FOLDERS = ("agents", "bench", "bindings", "cli", "cmake", "docs", "examples", "fuzz", "include", "src", "studio", "tests")
SKIPPED = {"build", ".git", "node_modules"}
HISTORY = "CHANGELOG.md"  # names files as they were
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:%s)/[\w./+-]+" % "|".join(FOLDERS))
HEADING = re.compile(r"^#+ +(.*?)\s*$", re.M)


def documents(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("build"))
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), root)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(text):
    """The names that a heading has as the target of a link, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
            for heading in HEADING.findall(FENCE.sub("", text))}


def links(root, page, text):
    for target in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(root, os.path.dirname(page), name)) if name else os.path.join(root, page)
        if not os.path.exists(path):
            yield f"{page}: the link leads nowhere: {target}"
        elif anchor and path.endswith(".md") and anchor not in anchors(text_of(path)):
            yield f"{page}: the link leads to no heading: {target}"


def paths(root, page, text):
    for code in CODE.findall(text):
        if PATH.fullmatch(code) and not os.path.exists(os.path.join(root, code)):
            yield f"{page}: there is no file {code}"


def main(root):
    wrong = []
    pages = list(documents(root))
    for page in pages:
        text = text_of(os.path.join(root, page))
        wrong += links(root, page, text)
        if page != HISTORY:
            wrong += paths(root, page, FENCE.sub("", text))
    index = set(LINK.findall(text_of(os.path.join(root, "docs", "README.md"))))
    wrong += [f"docs/README.md does not list {page}" for page in pages
              if os.path.dirname(page) == "docs" and page != "docs/README.md" and os.path.basename(page) not in index]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or not pages else 0


sys.exit(main(sys.argv[1]))
