# SPDX-License-Identifier: Apache-2.0
"""A page of TraceSmith, as a parser sees it that knows nothing of TraceSmith."""
import base64
import hashlib
import html.parser
import re
import sys

VOID = {"meta", "br", "link", "img", "input"}
PICTURE = {"path", "rect"}  # closed by themselves, or by an end tag
WORKS = {"k", "c", "y"}
WIDE = 1000000


def expect(right, message):
    if not right:
        print("FAILED:", message, file=sys.stderr)
        sys.exit(1)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tables, self.rows, self.cells = [], {}, None, None
        self.scripts, self.policy, self.pictures, self.text, self.boxes = [], None, [], [], []
        self.feed(text)
        self.close()
        expect(self.open in ([], ["p"]), f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        expect(tag not in ("iframe", "object", "embed", "img", "link", "form", "base"), f"<{tag}>")
        for name, value in attrs:
            expect(not name.startswith("on") and name not in ("src", "href", "srcset", "style"), f"{tag} {name}={value}")
        if given.get("http-equiv") == "content-security-policy":
            self.policy = given["content"]
        if tag == "table":
            self.rows = self.tables.setdefault(given["data-table"], [])
        elif tag == "tr":
            self.cells = []
        elif tag in ("td", "th"):
            self.cells.append("")
        elif tag == "svg":
            self.pictures.append({"busy": given.get("data-busy"), "area": 0.0, "holes": 0, "names": []})
        elif tag in PICTURE and self.pictures:
            self.draw(tag, given)
        if tag not in VOID:
            self.open.append(tag)

    def draw(self, tag, given):
        picture, kind = self.pictures[-1], given.get("class")
        if kind in ("f0", "f1"):
            self.boxes.append((int(given["y"]), float(given["x"].rstrip("%")), float(given["width"].rstrip("%"))))
        picture["holes"] += kind == "h" and tag == "rect"
        if kind not in WORKS:
            return
        if tag == "rect" and kind in WORKS:
            picture["area"] += float(given["width"]) * float(given["height"]) / 100 / WIDE
        for wide, tall in re.findall(r"h(\d+)v-([0-9.]+)", given.get("d", "")):
            picture["area"] += float(wide) * float(tall) / 100 / WIDE

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag != "p" and self.open and self.open[-1] == "p":
            self.open.pop()
        expect(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}")
        self.open.pop()
        if tag == "tr" and self.rows is not None:
            self.rows.append(self.cells)
        if tag == "table":
            self.rows = None

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif "style" not in self.open:
            self.text.append(data)
        if self.rows is not None and self.cells and ({"td", "th"} & set(self.open)):
            self.cells[-1] += data

    def check_policy(self):
        expect(len(self.scripts) == 1, f"{len(self.scripts)} scripts")
        digest = base64.b64encode(hashlib.sha256(self.scripts[0].encode()).digest()).decode()
        expect(f"script-src 'sha256-{digest}'" in self.policy, f"{self.policy}: the script is {digest}")
        expect(self.policy.startswith("default-src 'none'"), self.policy)
