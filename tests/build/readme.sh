# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The tables of README.md that are made from a list in tests/. Sourced by test_vendors.sh and test_formats.sh, in the folder of the
# sources. Makes a folder $work, which is removed at the end. A table is found by its first line; its made rows end at an empty line or
# at a row that begins with "| Linux".

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}

# readme_list FILE COLUMNS: prints the lines of a list, without comments and without blanks at "|". Fails if a line has another number of columns.
readme_list() {
    grep -v '^#' "$1" | grep . | sed 's/ *| */|/g' |
        awk -F '|' -v columns="$2" 'NF != columns { print "not read as it is written: " $0 >"/dev/stderr"; bad = 1 } 1; END { exit bad }'
}

# readme_table HEADER LIST [--update]: README.md's rows are those of the file $work/table, or are made so, which ends the test.
readme_table() {
    if [ "${3-}" = --update ]; then
        awk -v header="$1" -v rows="$work/table" '
            /^\| Linux|^$/ { on = 0 }
            !on
            $0 == header { getline; print; on = 1; while ((getline line <rows) > 0) print line }' README.md >"$work/new"
        cat "$work/new" >README.md
        exit 0
    fi
    awk -v header="$1" '$0 == header { getline; on = 1; next } /^\| Linux|^$/ { on = 0 } on' README.md >"$work/readme"
    diff "$work/readme" "$work/table" || fail "README.md has another table than $2: run $0 --update"
}
