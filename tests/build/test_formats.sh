#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md's table of formats is that of tests/formats.txt, and names every format that the command reads and writes (docs/commands.md,
# which is the command's own help: cli.docs), and no other. --update writes README.md's rows.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
. tests/build/readme.sh
readme_list tests/formats.txt 5 >"$work/rows" || fail "tests/formats.txt"
awk -F '|' '{ printf "| %s | %s | %s |\n", $1, $2, $3 }' "$work/rows" >"$work/table"

readme_table '| format | read | written |' tests/formats.txt "$@"

# The names in the help of a command, which are in a table of their own (import) or in the row of an option (export).
section() { awk -v title="## $1" '/^## /{ on = $0 == title } on' docs/commands.md; }
# shellcheck disable=SC2016 # the quotes of code in Markdown
section import | sed -n '/^| Formats/,/^$/s/^| `\([^`]*\)` |.*/\1/p' >"$work/read"
# shellcheck disable=SC2016 # the same
section export | grep -F -- '`--format FORMAT`' | grep -o '<br>`[^`]*`: ' | sed 's/<br>`\(.*\)`: /\1/' >"$work/written"
for direction in read:2:4 written:3:5; do
    name=${direction%%:*} yes=${direction#*:} names=${direction##*:} yes=${yes%:*}
    [ "$(wc -l <"$work/$name")" -ge 10 ] || fail "docs/commands.md has fewer than 10 formats that are $name"
    (cat "$work/$name" && echo sbt) | sort >"$work/known"
    cut -d '|' -f "$names" "$work/rows" | tr ' ' '\n' | grep . | sort -u >"$work/named"
    diff "$work/known" "$work/named" || fail "the formats that are $name (<) are not those of tests/formats.txt (>)"
    awk -F '|' -v yes="$yes" -v names="$names" '($names == "") != ($yes == "no") || $yes !~ /^(no|yes($|; ))/ { print; bad = 1 } END { exit bad }' \
        "$work/rows" || fail "these rows of tests/formats.txt do not say yes where a format is $name, and no elsewhere"
done
echo "$(wc -l <"$work/rows") rows"
