# SPDX-License-Identifier: Apache-2.0
"""Chakra files through protoc and chakra.proto: in both directions, without TraceSmith's code."""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
VALUE = re.compile(r'^(\w+): (.*)$')
ESCAPE = re.compile(rb'\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)')
SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b'"': b'"', b"'": b"'", b"\\": b"\\"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def messages(data):
    at = 0
    while at < len(data):
        length, at = varint(data, at)
        if at + length > len(data):
            raise ValueError("a message that is cut at byte %d" % at)
        yield data[at:at + length]
        at += length


def encode(number):
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7f | 0x80]), number >> 7
    return out + bytes([number])


def protoc(mode, message, data):
    return subprocess.run(["protoc", "-I", HERE, "--%s=tracesmith.chakra.%s" % (mode, message), "chakra.proto"],
                          input=data, stdout=subprocess.PIPE, check=True).stdout


def unquote(text):
    def one(found):
        code = found.group(1)
        if code in SIMPLE:
            return SIMPLE[code]
        return bytes([int(code[1:], 16) if code[:1] == b"x" else int(code, 8)])
    return ESCAPE.sub(one, text[1:-1].encode()).decode(errors="surrogateescape")


def scalar(text):
    if text.startswith('"'):
        return unquote(text)
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def parse(lines):
    """Text format: a dictionary of lists."""
    root = {}
    stack = [root]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            inner = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        elif line:
            found = VALUE.match(line)
            stack[-1].setdefault(found.group(1), []).append(scalar(found.group(2)))
    return root


def attributes(item):
    return {attr["name"][0]: next((v[0] for k, v in attr.items() if k != "name"), None) for attr in item.get("attr", [])}


def read(path):
    """Metadata and nodes; unknown fields are errors."""
    with open(path, "rb") as file:
        data = file.read()
    wrapped = b"".join((b"\x12" if i else b"\x0a") + encode(len(m)) + m for i, m in enumerate(messages(data)))
    text = protoc("decode", "File", wrapped).decode(errors="surrogateescape")
    root = parse(text.splitlines())
    nodes = []
    for node in root.get("node", []):
        if any(k.isdigit() for k in node):
            raise ValueError("a node with a field that the schema does not have: %s" % node)
        # proto3 does not print numbers that are 0.
        nodes.append({"id": node.get("id", [0])[0], "name": node.get("name", [""])[0], "type": node.get("type", [None])[0],
                      "ctrl": node.get("ctrl_deps", []), "data": node.get("data_deps", []),
                      "start": node.get("start_time_micros", [0])[0], "duration": node.get("duration_micros", [0])[0],
                      "inputs": node.get("inputs", [{}])[0], "outputs": node.get("outputs", [{}])[0], "attr": attributes(node)})
    metadata = root.get("metadata", [{}])[0]
    return {"version": metadata.get("version", [""])[0], "attr": attributes(metadata)}, nodes


def write(path, metadata, nodes):
    """Both as text format; one call of protoc for all nodes."""
    text = "metadata { %s }\n" % metadata + "".join("node { %s }\n" % node for node in nodes)
    data = protoc("encode", "File", text.encode())
    out, at = b"", 0
    while at < len(data):
        length, body = varint(data, at + 1)
        out += data[at + 1:body + length]
        at = body + length
    with open(path, "wb") as file:
        file.write(out)
