# SPDX-License-Identifier: Apache-2.0
"""Compares the Rust crate's bindings.rs with the headers: turns every constant, struct and function of it into C and lets the compiler
assert that it is what the headers declare. For test_bindings.sh.

check_bindings.py BINDINGS INCLUDE-FOLDER: prints C.
"""
import re
import sys

SIMPLE = {"c_int": "int", "c_uint": "unsigned", "c_char": "char", "c_void": "void", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t",
          "u64": "uint64_t", "i64": "int64_t", "usize": "size_t", "f64": "double",
          "tsmith_cell_value": "__typeof__(((tsmith_cell *)0)->value)"}
# A table of the headers, the constants that are made of it, and their file.
TABLES = (("STATUS", "TSMITH_", "status.h"), ("KIND", "TSMITH_KIND_", "schema.h"), ("TYPE", "TSMITH_TYPE_", "schema.h"),
          ("FIELD", "TSMITH_FIELD_", "schema.h"), ("CELL", "TSMITH_CELL_", "analyze.h"), ("OVERFLOW", "TSMITH_OVERFLOW_", "capture.h"))


def split(text):
    """Parts between the commas that are outside brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([<") - (letter in ")]" or (letter == ">" and text[at - 1] != "-"))
        if letter == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def c_type(rust, inner=""):
    """A C declaration of `inner` with a Rust type."""
    rust = rust.strip()
    if rust.startswith("*"):
        return f"{pointer_to(rust)} {inner}".strip()
    found = re.match(r"Option<unsafe extern \"C\" fn\((.*)\)(?: -> (.*))?>$", rust)
    if found:
        return c_type(found.group(2) or "c_void", f"(* {inner})({', '.join(c_type(part) for part in split(found.group(1))) or 'void'})")
    found = re.match(r"\[(.*); (.*)\]$", rust)
    if found:
        return c_type(found.group(1), f"{inner}[{found.group(2)}]")
    return f"{SIMPLE.get(rust, rust)} {inner}".strip()


def pointer_to(rust):
    """A pointer, or one to a pointer: C puts their qualifiers elsewhere."""
    levels = re.findall(r"\*(const|mut) ", rust)
    base = re.sub(r"\*(const|mut) ", "", rust)
    text = SIMPLE.get(base, base)
    for level in reversed(levels):
        text = f"{text} const *" if level == "const" else f"{text} *"
    return text


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    print('#include <stddef.h>\n#include "tracesmith/tracesmith.h"')
    constants = dict(re.findall(r"pub const (\w+): \w+ = (-?\d+);", text))
    for name, value in constants.items():
        print(f'_Static_assert({name} == {value}, "{name}");')
    for table, prefix, header in TABLES:
        with open(f"{sys.argv[2]}/tracesmith/{header}", encoding="utf-8") as file:
            rows = re.search(rf"#define TSMITH_{table}_TABLE\(X\)(.*?)\n\n", file.read(), re.S).group(1)
        missing = {prefix + name for name in re.findall(r"X\((\w+), -?\d+,", rows)} - set(constants)
        assert not missing, f"not in bindings.rs: {sorted(missing)}"
    structs = re.findall(r"pub (?:struct|union) (\w+) \{\n(.*?)\n\}", text, re.S)
    for name, body in structs:
        fields = [(field.rstrip("_"), kind) for field, kind in re.findall(r"pub (\w+): (.*),", body)]
        real = SIMPLE.get(name, name)
        keyword = "union" if name == "tsmith_cell_value" else "struct"
        print(f"{keyword} mirror_{name} {{ {' '.join(c_type(kind, field) + ';' for field, kind in fields)} }};")
        print(f'_Static_assert(sizeof({keyword} mirror_{name}) == sizeof({real}), "{name}");')
        for field, _ in fields:
            print(f'_Static_assert(offsetof({keyword} mirror_{name}, {field}) == offsetof({real}, {field}), "{name}.{field}");')
            print(f"_Static_assert(__builtin_types_compatible_p(__typeof__((({keyword} mirror_{name} *)0)->{field}), "
                  f'__typeof__((({real} *)0)->{field})), "{name}.{field}");')
    functions = re.findall(r"pub fn (\w+)\((.*)\)(?: -> (.*))?;", text)
    for name, arguments, result in functions:
        kinds = ", ".join(c_type(argument.split(":", 1)[1]) for argument in split(arguments)) or "void"
        print(f"extern __typeof__({name}) {name};")
        print(f'_Static_assert(__builtin_types_compatible_p(__typeof__(&({name})), {c_type(result) if result else "void"} (*)({kinds})), "{name}");')
    assert len(constants) > 100 and len(structs) > 15 and len(functions) > 40, (len(constants), len(structs), len(functions))


main()
