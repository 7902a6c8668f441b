# SPDX-License-Identifier: Apache-2.0
"""check_reports.py PAGE JSON [KEY]: the page of an answer has the finding, the tables and as many rows as the answer's JSON, where
it is under KEY."""
import json
import sys

from page import Page, expect

with open(sys.argv[1], encoding="utf-8") as file:
    page = Page(file.read())
with open(sys.argv[2], encoding="utf-8") as file:
    report = json.load(file)
report = report[sys.argv[3]] if len(sys.argv) > 3 else report
page.check_policy()
text = "".join(page.text)
expect(report["question"] in text and report["finding"] in text, f"{report['finding']} is not on the page")
for note in report["notes"]:
    expect(note in text, f"{note} is not on the page")
tables = {name: rows for name, rows in report["tables"].items() if rows}
expect(set(tables) == set(page.tables), f"{set(tables)}, on the page {set(page.tables)}")
for name, rows in tables.items():
    shown = page.tables[name]
    expect(len(shown) - 1 == min(len(rows), 30), f"{name}: {len(rows)} rows, {len(shown) - 1} on the page")
    for column, head in enumerate(shown[0]):
        for row, cells in zip(rows, shown[1:]):
            value = row.get(head)
            if isinstance(value, int) and not head.endswith(("share", "ns")):
                expect(cells[column] == str(value), f"{name}.{head}: {cells[column]}, not {value}")
            if value is None and head in row:
                expect(cells[column] == "-", f"{name}.{head}: {cells[column]} of an unknown value")
print(f"{sys.argv[1]}: {len(tables)} tables")
