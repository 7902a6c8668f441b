# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The tables of README.md that are made from a list in tests/. Sourced by test_vendors.sh and test_formats.sh, in the folder of the
# sources. A table is found by its first line; its made rows end at an empty line or at a row that begins with "| Linux".

# readme_rows HEADER: prints the rows.
readme_rows() {
    awk -v header="$1" '$0 == header { getline; on = 1; next } /^\| Linux|^$/ { on = 0 } on' README.md
}

# readme_write HEADER ROWS NEW: puts the rows of the file ROWS in their place; NEW is a file for what is between.
readme_write() {
    awk -v header="$1" -v rows="$2" '
        /^\| Linux|^$/ { on = 0 }
        !on
        $0 == header { getline; print; on = 1; while ((getline line <rows) > 0) print line }' README.md >"$3"
    cat "$3" >README.md
}

# readme_list FILE COLUMNS: prints the lines of a list, without comments and without blanks at "|". Fails if a line has another number of columns.
readme_list() {
    grep -v '^#' "$1" | grep . | sed 's/ *| */|/g' |
        awk -F '|' -v columns="$2" 'NF != columns { print "not read as it is written: " $0 >"/dev/stderr"; bad = 1 } 1; END { exit bad }'
}
