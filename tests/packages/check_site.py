#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_site.py SITE SOURCE: the built site (./dev site) is whole. Every link within it leads to a file and an anchor that exist; no page
loads anything from elsewhere; each page of docs/ is in the navigation, in the order of docs/README.md; each function and struct that
tests/build/abi.txt lists has its place among the headers of C. Prints what is wrong, and exits with 1."""
import os
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

# What a browser loads by itself, and where its address is; of <a> it is where a reader goes.
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "use": "href"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded, self.navigation, self.depth = set(), [], [], [], 0
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "div":
            if self.depth or "sidebar-tree" in (values.get("class") or "").split():
                self.depth += 1
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if self.depth:
                self.navigation.append(values["href"])
        if LOADED.get(tag) in values:
            self.loaded.append(values[LOADED[tag]])

    def handle_endtag(self, tag):
        if tag == "div" and self.depth:
            self.depth -= 1


def files(folder, end):
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(end):
                yield os.path.relpath(os.path.join(where, name), folder)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def wrong_links(site, pages):
    for name, page in pages.items():
        for target in page.links + page.loaded:
            loaded = target in page.loaded
            if re.match(r"[a-z]+:", target) or target.startswith("//"):
                if loaded and not target.startswith("data:"):
                    yield f"{name} loads from elsewhere: {target}"
                continue
            path, _, anchor = target.partition("#")
            path = path.partition("?")[0]
            to = os.path.normpath(os.path.join(os.path.dirname(name), unquote(path))) if path else name
            if to.startswith("..") or path.startswith("/") or not os.path.isfile(os.path.join(site, to)):
                yield f"{name}: the link leads nowhere: {target}"
            elif anchor and to in pages and unquote(anchor) not in pages[to].ids:
                yield f"{name}: the link leads to no anchor: {target}"
    for name in files(site, ".css"):
        for target in re.findall(r"""(?:url\(|@import )["']?([^"')\s;]+)""", text_of(os.path.join(site, name))):
            if target == "url(" or target.startswith("data:"):
                continue
            if re.match(r"[a-z]+:|/", target) or not os.path.isfile(os.path.join(site, os.path.dirname(name), target.partition("?")[0])):
                yield f"{name} loads from elsewhere, or what is not there: {target}"


def wrong_navigation(source, pages):
    shown = [target.partition("#")[0] for target in pages["index.html"].navigation]
    index = text_of(os.path.join(source, "docs", "README.md"))
    listed = [os.path.normpath(os.path.join("docs", target)) for target in re.findall(r"^\| \[[^\]]*\]\(([^)]+)\)", index, re.M)]
    listed = [re.sub(r"\.md$", ".html", name) for name in listed]
    order = [name for name in shown if name in listed]
    if order != listed:
        yield "the navigation does not have the pages of docs/README.md in their order: " + " ".join(sorted(set(listed) ^ set(order)))
    for name in files(os.path.join(source, "docs"), ".md"):
        made = "docs/" + name[:-3] + ".html"
        if made not in shown:
            yield f"not in the navigation: docs/{name}"


def wrong_headers(source, pages):
    ids = set().union(*(page.ids for name, page in pages.items() if name.startswith("c/")))
    abi = text_of(os.path.join(source, "tests", "build", "abi.txt"))
    names = set(re.findall(r"^(?:function|struct) (\w+)|^member (\w+)\.", abi, re.M))
    names = {first or second for first, second in names}
    if len(names) < 100:
        yield "tests/build/abi.txt has fewer than 100 names"
    for name in sorted(names):
        if "c-" + name.replace("_", "-") not in ids:
            yield f"no page describes {name}"


def main(site, source):
    pages = {name: Page(os.path.join(site, name)) for name in files(site, ".html")}
    wrong = [*wrong_links(site, pages), *wrong_navigation(source, pages), *wrong_headers(source, pages)]
    print("\n".join(wrong) or f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
