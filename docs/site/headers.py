# SPDX-License-Identifier: Apache-2.0
"""The public headers of C as Markdown: a page per header, with its comments and declarations in their order.

What it reads is the form that all headers in include/tracesmith have: a comment at the top; then groups of a comment and the
declarations that follow it without an empty line. A table (`#define TSMITH_..._TABLE(X)`) becomes a table.
"""
import html
import os
import re
import textwrap

# A line that is no declaration for a reader: guards, includes, and the frame for C++.
FRAME = re.compile(r'#(?:ifn?def|endif|include|undef|if|else)\b|extern "C" \{|#define TRACESMITH_\w+_H$|\}$')
DECLARED = (
    re.compile(r"\b(tsmith_\w+)\s*\([^;{]*\)?"),  # a function
    re.compile(r"\}\s*(tsmith_\w+)\s*;"),  # the end of a typedef
    re.compile(r"typedef\s[^{;(]*?\b(tsmith_\w+)\s*;"),
    re.compile(r"typedef[^;]*\(\*\s*(tsmith_\w+)\)"),
    re.compile(r"#\s*define\s+(\w+)"),
    re.compile(r"\b(TSMITH_\w+)\s*(?:=|,|\})"),
)


class Block:
    """A comment (may be empty) and the declarations below it (may be none: text for itself)."""

    def __init__(self, comment):
        self.comment = comment
        self.declarations = []


def declaration_from(lines, at):
    """The declaration that begins at a line, as its lines, and where the next one begins."""
    first = at
    if lines[at].startswith("#"):
        while lines[at].endswith("\\"):
            at += 1
        return lines[first:at + 1], at + 1
    depth = 0
    while True:
        line = re.sub(r"//.*|\"(?:\\.|[^\"\\])*\"", "", lines[at])
        depth += line.count("{") - line.count("}")
        ended = line.rstrip().endswith(";") or (line.rstrip().endswith("}") and "static inline" in lines[first])
        at += 1
        if (ended and depth == 0) or at == len(lines):
            return lines[first:at], at


def expanded(text):
    """The header with its functions that a table declares: 'TABLE(DECLARE)' becomes what the two macros say."""
    joined = re.sub(r" *\\\n", "\n", text)
    for use in re.findall(r"^(TSMITH_\w+)\((TSMITH_\w+)\)$", text, re.M):
        rows = re.search(r"#define " + use[0] + r"\(X\)\n((?: +X\(.*\)\s*\n)+)", joined).group(1)
        parameters, body = re.search(r"(?s)#define " + use[1] + r"\(([^)]*)\)\n(.*?;)\n(?! )", joined).groups()
        made = []
        for row in re.findall(r"X\((.*)\)", rows):
            one = body
            for parameter, value in zip(parameters.split(","), row.split(",")):
                one = re.sub(r"(##)?\b" + parameter.strip() + r"\b(##)?", value.strip(), one)
            made += [" ".join(line.split()) for line in one.splitlines()]
        text = re.sub(r"#define " + use[1] + r"\([^\n]*\\\n(?:[^\n]*\\\n)*[^\n]*\n", "", text)
        text = text.replace("%s(%s)\n" % use, "\n".join(made) + "\n")
    return text


def blocks_of(text):
    """(the comment at the top, the blocks)."""
    lines = expanded(text).splitlines()
    at = 0
    while lines[at].startswith("//"):
        at += 1
    top = [line[2:].removeprefix(" ") for line in lines[:at] if "SPDX-License" not in line]
    blocks, current = [], None
    while at < len(lines):
        line = lines[at]
        if not line.strip() or FRAME.match(line):
            current = None if not line.strip() else current
            at += 1
        elif line.startswith("//"):
            if current is None or current.declarations:
                current = Block([])
                blocks.append(current)
            current.comment.append(line[2:].removeprefix(" "))
            at += 1
        else:
            if current is None:
                current = Block([])
                blocks.append(current)
            found, at = declaration_from(lines, at)
            current.declarations.append(found)
    return top, blocks


def names_of(declaration):
    """What a declaration declares: the name first by which a reader looks for it."""
    text = "\n".join(declaration)
    bare = re.sub(r"//[^\n]*", "", text)
    if bare.startswith("#"):
        return [re.match(r"#\s*define\s+(\w+)", bare).group(1)]
    if bare.startswith("typedef"):
        for pattern in DECLARED[1:4]:
            found = pattern.findall(bare)
            if found:
                return [found[-1]]
    if bare.startswith("enum"):
        return DECLARED[5].findall(bare)[:1]
    if bare.startswith("struct"):
        return re.findall(r"struct (\w+)", bare)[:1]
    return DECLARED[0].findall(bare)[:1]


def prose(comment, links):
    """A comment as Markdown: its own marks do not count, lists and indented lines stay, and known names are links."""
    out, code, listed = [], [], False
    for line in [*comment, ""]:
        item = re.match(r" *- ", line)
        if line.startswith("  ") and not item and not listed:
            code.append(line)
            continue
        if code:
            out += ["", "```text", *textwrap.dedent("\n".join(code)).splitlines(), "```", ""]
            code = []
        if item and not listed:
            out.append("")
        if listed and not item and not line.startswith("  "):
            out.append("")
            listed = False
        listed = listed or bool(item)
        parts = re.split(r"(`[^`]*`)", line)
        parts[::2] = [plain(part, links) for part in parts[::2]]
        out.append("".join(parts))
    return "\n".join(out).strip()


def plain(text, links):
    """Text without meaning to Markdown, whose names of functions and types are links."""
    text = re.sub(r"([\\*\[\]|])", r"\\\1", html.escape(text, quote=False))
    names = re.split(r"(?<!\w)((?:tsmith|TSMITH)_\w*\w)", text)
    names[::2] = [re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", part) for part in names[::2]]
    names[1::2] = [reference(name, links) for name in names[1::2]]
    return "".join(names)


def label(name):
    """The label of a name in the site; macros and functions may differ only in their case, which labels do not have."""
    return ("macro-" if name.isupper() else "c-") + name


def reference(name, links):
    return f"[`{name}`]({label(name)})" if name in links else f"`{name}`"


def strings_of(arguments):
    """The arguments of a row of a table; texts that are written one after another are one."""
    parts, depth, text = [""], 0, False
    for sign in re.findall(r'"(?:\\.|[^"\\])*"|.', arguments, re.S):
        if sign == "," and depth == 0:
            parts.append("")
            continue
        depth += (sign == "(") - (sign == ")")
        parts[-1] += sign
    for part in parts:
        strings = re.findall(r'"((?:\\.|[^"\\])*)"', part)
        text = bool(strings) and not re.sub(r'"(?:\\.|[^"\\])*"', "", part).strip()
        yield "".join(strings).replace('\\"', '"') if text else "`" + part.strip() + "`"


def rows_of(declaration):
    """The rows of a table, or None if the declaration is no table."""
    text = re.sub(r"\\\n", "\n", "\n".join(declaration))
    head = re.match(r"#define \w+_TABLES?\(X\)(.*)", text, re.S)
    if not head:
        return None
    rows, at, body = [], 0, head.group(1)
    for start in re.finditer(r"\bX\(", body):
        if start.start() < at:
            continue
        depth, at = 1, start.end()
        for sign in re.finditer(r'"(?:\\.|[^"\\])*"|[()]', body[at:]):
            depth += {"(": 1, ")": -1}.get(sign.group(), 0)
            if depth == 0:
                rows.append(list(strings_of(body[at:at + sign.start()])))
                at += sign.end()
                break
    return rows


def table(rows, comment):
    """Its columns are named by the words X(...) of the comment above it."""
    named = re.search(r"X\(([^)]*)\)", " ".join(comment))
    heads = [part.strip().strip('"') for part in named.group(1).split(",")] if named else []
    width = max(len(row) for row in rows)
    heads = (heads + [""] * width)[:width]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * width]
    for row in rows:
        cells = [cell if cell.startswith("`") else re.sub(r"([*_\[\]<])", r"\\\1", cell) for cell in row]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells + [""] * (width - len(cells))) + " |")
    return "\n".join(lines)


def without_export(declaration):
    """A declaration without the word that exports it and without a body; its further lines stay below its parameters."""
    word = "TSMITH_API "
    if "static inline" in declaration[0]:
        text = "\n".join(declaration)
        return (text[text.index("static inline"):text.index(" {")] + ";").splitlines()
    if not declaration[0].startswith(word):
        return declaration
    return [declaration[0][len(word):]] + [line[len(word):] if line.startswith(" " * len(word)) else line for line in declaration[1:]]


def page(name, text, links):
    """The page of a header. `links` is {name: page} of everything that has a heading."""
    top, blocks = blocks_of(text)
    labeled = set()
    out = [f"# {name}", "", f"    #include <tracesmith/{name}>", "", prose(top, links), ""]
    for block in blocks:
        heads = list(dict.fromkeys(name for declaration in block.declarations for name in names_of(declaration)))
        out += [f"({label(one)})=" for one in heads if links[one] == name[:-2] and one not in labeled]
        labeled.update(heads)
        if heads:
            named = [f"`{one}`" for one in heads]
            out += ["## " + (", ".join(named) if len(named) <= 3 else f"{named[0]} to {named[-1]}"), ""]
        code, tables = [], []
        for declaration in block.declarations:
            rows = rows_of(declaration)
            if rows:
                tables.append(table(rows, block.comment))
            else:
                code += without_export(declaration)
        if code:
            out += ["```c", *code, "```", ""]
        out += [prose(block.comment, links), ""]
        for one in tables:
            out += [one, ""]
    return "\n".join(out) + "\n"


def pages(folder):
    """{file name of the page: its Markdown}, in the order of the names."""
    texts = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".h"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts[name] = file.read()
    links = {}
    for name, text in texts.items():
        for block in blocks_of(text)[1]:
            for declaration in block.declarations:
                for declared in names_of(declaration):
                    links.setdefault(declared, name[:-2])
    return {name[:-2] + ".md": page(name, text, links) for name, text in texts.items()}
