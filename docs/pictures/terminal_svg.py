#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a terminal would show (text with ANSI colors, on standard input) as an SVG, on standard output.

    script -qec 'stty cols 112; tracesmith view trace.sbt --timeline' /dev/null | tr -d '\r' |
        docs/pictures/terminal_svg.py 'tracesmith view trace.sbt --timeline' > docs/pictures/timeline.svg
"""
import re
import sys
import unicodedata
from xml.sax.saxutils import escape

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN, BAR = 8.4, 18, 14, 16, 28
BASIC = ["#2e3440", "#e06c75", "#7fc77f", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"]
BRIGHT = ["#6b7280", "#ff8b94", "#a3e9a4", "#ffd98e", "#8cc8ff", "#dfa0f5", "#7fdbe5", "#ffffff"]
FOREGROUND, BACKGROUND, TITLE_BAR = "#d8dee9", "#1b1f27", "#2a303c"


def palette(index):
    if index < 8:
        return BASIC[index]
    if index < 16:
        return BRIGHT[index - 8]
    if index >= 232:
        level = 8 + 10 * (index - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    steps = [0, 95, 135, 175, 215, 255]
    index -= 16
    return "#%02x%02x%02x" % (steps[index // 36], steps[index // 6 % 6], steps[index % 6])


class Style:
    def __init__(self):
        self.fore, self.back, self.bold, self.dim = None, None, False, False

    def key(self):
        return self.fore, self.back, self.bold, self.dim

    def apply(self, codes):
        codes = [int(code or 0) for code in codes.split(";")] if codes else [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 22:
                self.bold = self.dim = False
            elif code in (38, 48) and len(codes) >= 2 and codes[0] == 5:
                setattr(self, "fore" if code == 38 else "back", palette(codes[1]))
                del codes[:2]
            elif 30 <= code <= 37:
                self.fore = BASIC[code - 30]
            elif 90 <= code <= 97:
                self.fore = BRIGHT[code - 90]
            elif code == 39:
                self.fore = None
            elif 40 <= code <= 47:
                self.back = BASIC[code - 40]
            elif code == 49:
                self.back = None


def spans(line, style):
    """Yields (column, text, style key) for each run of one style."""
    column, text, start = 0, "", 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        match = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not match:
            for char in part:
                text += char
                column += 2 if unicodedata.east_asian_width(char) in "WF" else 1
            continue
        if text:
            yield start, text, style.key()
        text, start = "", column
        style.apply(match.group(1))
    if text:
        yield start, text, style.key()


def main():
    title = sys.argv[1] if len(sys.argv) > 1 else ""
    lines = sys.stdin.read().rstrip("\n").split("\n")
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = MARGIN * 2 + CELL_WIDTH * max(map(len, plain))
    height = BAR + MARGIN * 2 + LINE_HEIGHT * len(lines)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-size="{FONT_SIZE}"'
        ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        f'<path d="M0 {BAR}V8a8 8 0 0 1 8-8H{width - 8:.0f}a8 8 0 0 1 8 8V{BAR}z" fill="{TITLE_BAR}"/>',
        f'<text x="{MARGIN}" y="19" fill="#9aa4b5" font-size="13">{escape(title)}</text>',
    ]
    style = Style()
    for row, line in enumerate(lines):
        top = BAR + MARGIN + row * LINE_HEIGHT
        for column, text, (fore, back, bold, dim) in spans(line, style):
            x, length = MARGIN + column * CELL_WIDTH, len(text) * CELL_WIDTH
            if back:
                out.append(f'<rect x="{x:.1f}" y="{top}" width="{length:.1f}" height="{LINE_HEIGHT}" fill="{back}"/>')
            if not text.strip():
                continue
            extra = (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if dim else "")
            out.append(
                f'<text x="{x:.1f}" y="{top + 14}" fill="{fore or FOREGROUND}" xml:space="preserve"'
                f' textLength="{length:.1f}"{extra}>{escape(text)}</text>'
            )
    out.append("</svg>")
    print("\n".join(out))


main()
