# SPDX-License-Identifier: Apache-2.0
"""check_replay_page.py PAGE JSON: the page of `replay --html` has the verdicts, the results, the differences, the first wrong
command and the refused calls of its JSON, and every recorded command."""
import json
import sys

from page import Page, expect

with open(sys.argv[1], encoding="utf-8") as file:
    page = Page(file.read())
with open(sys.argv[2], encoding="utf-8") as file:
    answer = json.load(file)
page.check_policy()


def table(name):
    """Its rows, each by the names of the columns."""
    rows = page.tables.get(name, [])
    return [dict(zip(rows[0], row)) for row in rows[1:]]


text = "".join(page.text)
expect(answer["device"] in text, "the device is not on the page")
expect({row["verdict"]: int(row["results"]) for row in table("verdicts")} == {name: count for name, count in answer["verdicts"].items() if count},
       f"verdicts: {table('verdicts')}")
results = answer["results"]
expect([(row["verdict"], int(row["buffer"]), int(row["after_commands"])) for row in table("results")] ==
       [(one["verdict"], one["buffer"], one["command"]) for one in results[:1000]], "results")
differences = [one for one in results if one["verdict"] != "exact"]
expect(len(table("differences")) == min(len(differences), 1000), "differences")
for row, one in zip(table("differences"), differences):
    expect(row["different"] == str(one.get("different", "-")), f"different: {row}, {one}")
    if one["element"][0] in "ui" and "recorded_bits" in one:
        expect((int(row["recorded"]), int(row["replayed"])) == (int(one["recorded_bits"], 16), int(one["replayed_bits"], 16)), f"{row}, {one}")
first = answer.get("first_bad")
shown = table("first_wrong")
expect(bool(first) == bool(shown), "the first wrong command")
if first:
    expect(int(shown[0]["command"]) == first["command"]["command"] and int(shown[0]["candidates"]) == first["candidates"], f"{shown}, {first}")
commands = table("commands")
expect(len(commands) == min(answer["recording"]["commands"], 1000), f"{len(commands)} commands")
verdicts = {}
for one in results:
    if one["writer"]:
        verdicts.setdefault((one["pid"], one["writer_command"]), set()).add(one["verdict"])
for row in commands:
    found = verdicts.get((int(row["pid"]), int(row["command"])), {"-"})
    expect(row["verdict"] in found or row["verdict"] == "first wrong" and int(row["command"]) == first["command"]["command"], f"{row}: {found}")
expect(len(table("not_replayed")) == len(answer["refusals"]), "refusals")
print(f"{sys.argv[1]}: {len(commands)} commands, {len(results)} results")
