#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation as a web site: make.py SOURCE OUT (./dev site).

The pages are those that docs/README.md lists, in its order and under its headings; README.md is the first page. To these come a page
for each public header of C (headers.py). Sphinx with MyST and the theme furo makes them into HTML, which needs no server and loads
nothing from elsewhere. Exit code 4: Sphinx is missing.
"""
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile

import headers

HERE = os.path.dirname(os.path.abspath(__file__))
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)")
INDEX = "docs/README.md"
C_SECTION = "Use from a program"  # the heading under which the headers come
# What has to be there, and Debian's package of it.
MODULES = {"sphinx": "python3-sphinx", "myst_parser": "python3-myst-parser", "furo": "furo"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def linked(page, target):
    """The path in the source to which a relative link of a page leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def sections(source):
    """[(heading, [page])] of the index; a page is its path in the source."""
    found = []
    for line in read(os.path.join(source, INDEX)).splitlines():
        if line.startswith("## "):
            found.append((line[3:].strip(), []))
        row = re.match(r"\| \[[^\]]*\]\(([^)]+)\)", line)
        if row and found:
            found[-1][1].append(linked(INDEX, row.group(1)))
    return found


def below(source, page):
    """The pages of a folder whose README.md is a page, in the order in which that one links them."""
    if posixpath.basename(page) != "README.md":
        return []
    order = [linked(page, target) for _, _, target in LINK.findall(read(os.path.join(source, page))) if target.endswith(".md")]
    folder = posixpath.dirname(page)
    return [one for one in dict.fromkeys(order) if posixpath.dirname(one) == folder and one != page]


def staged(page):
    """Where a page of the source is in the site."""
    return "index.md" if page == "README.md" else page


def rewritten(page, text, pages, pictures):
    """The text with links that lead within the site. A link to a file that is no page becomes its text and the name of the file."""
    def link(found):
        picture, text_of, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found.group(0)
        name, _, anchor = target.partition("#")
        path = linked(page, name)
        if picture:
            pictures.add(path)
            return found.group(0)
        header = re.fullmatch(r"include/tracesmith/(\w+)\.h", path)
        if header:
            path = f"c/{header.group(1)}.md"
        if path not in pages and not header:
            return text_of if path in text_of else f"{text_of} (`{path}`)"
        to = posixpath.relpath(staged(path), posixpath.dirname(staged(page)) or ".")
        return f"[{text_of}]({to}{'#' + anchor if anchor else ''})"
    parts = FENCE.split(text)
    parts[::2] = [re.sub(r"<!--.*?-->\n?", "", LINK.sub(link, part), flags=re.S) for part in parts[::2]]
    # A page has one title: further ones (the modules of docs/python-api.md) would be pages of their own in the navigation.
    titles = re.findall(r"^# ", "".join(parts[::2]), re.M)
    for i in range(2 if titles else len(parts), len(parts), 2):
        parts[i] = re.sub(r"^# ", "## ", parts[i], flags=re.M)
    return "".join(parts)


def toctree(caption, entries, depth=1):
    lines = ["", "```{toctree}", f":caption: {caption}" if caption else ":hidden:", f":maxdepth: {depth}", ":hidden:"]
    return "\n".join(dict.fromkeys(lines[1:])) + "\n\n" + "\n".join(entries) + "\n```\n"


def stage(source, folder):
    """Writes the pages of the site, as Markdown, and returns how many."""
    tree = sections(source)
    pages = ["README.md"] + [INDEX]
    children = {}
    for _, listed in tree:
        for page in listed:
            children[page] = below(source, page)
            pages += [page, *children[page]]
    known, pictures = set(pages), set()
    made = headers.pages(os.path.join(source, "include", "tracesmith"))
    for page in pages:
        text = rewritten(page, read(os.path.join(source, page)), known, pictures)
        if children.get(page):
            text += "\n" + toctree("", [posixpath.basename(one)[:-3] for one in children[page]])
        if page == "README.md":
            for heading, listed in tree:
                entries = [staged(one)[:-3] for one in listed]
                text += "\n" + toctree(heading, entries + (["c/README"] if heading == C_SECTION else []))
            text += "\n" + toctree("", [INDEX[:-3]])
        write(os.path.join(folder, staged(page)), text)
    for name, text in made.items():
        write(os.path.join(folder, "c", name), text)
    rows = [f"| [{name[:-3]}.h]({name}) | {summary(source, name[:-3])} |" for name in made]
    write(os.path.join(folder, "c", "README.md"), "# C API\n\nThe headers of `include/tracesmith`, with their comments. "
          "[tracesmith.h](tracesmith.md) includes all others and has the rule for structs that grow; [status.h](status.md) has the result of "
          "every call.\n\n| header | contents |\n|---|---|\n" + "\n".join(rows) + "\n\n" + toctree("", [name[:-3] for name in made]))
    for path in pictures:
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        shutil.copy(os.path.join(source, path), os.path.join(folder, path))
    os.makedirs(os.path.join(folder, "static"))
    shutil.copy(os.path.join(HERE, "site.css"), os.path.join(folder, "static"))
    shutil.copy(os.path.join(HERE, "conf.py"), folder)
    return len(pages) + len(made) + 1


def summary(source, name):
    """The first sentence of a header."""
    top, blocks = headers.blocks_of(read(os.path.join(source, "include", "tracesmith", name + ".h")))
    text = " ".join(top) or (" ".join(blocks[0].comment) if blocks else "")
    return headers.plain(re.split(r"(?<=\.)\s", text)[0], {})


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make.py SOURCE OUT")
    source, out = sys.argv[1:]
    missing = [package for module, package in MODULES.items() if subprocess.run(
        [sys.executable, "-c", "import " + module], stderr=subprocess.DEVNULL, check=False).returncode]
    if missing:
        print("missing:", " ".join(missing), file=sys.stderr)
        return 4
    version = re.search(r"^project\(TraceSmith VERSION (\d+\.\d+\.\d+)", read(os.path.join(source, "CMakeLists.txt")), re.M).group(1)
    with tempfile.TemporaryDirectory() as folder:
        count = stage(source, folder)
        shutil.rmtree(out, ignore_errors=True)
        code = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", os.path.join(folder, ".trees"),
                               folder, out], env={**os.environ, "TRACESMITH_SITE_VERSION": version}, check=False).returncode
    if code == 0:
        # Debian's furo imports a file of the server that it expects; site.css has what is needed of it.
        style = os.path.join(out, "_static", "styles", "furo.css")
        write(style, re.sub(r"@import url\(/[^)]*\);\n?", "", read(style)))
        print(f"{out}/index.html: {count} pages")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
