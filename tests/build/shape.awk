# SPDX-License-Identifier: Apache-2.0
# awk -f shape.awk FILE...: prints every file over 800 lines and every function over 60, unless a comment
# 'shape: why' excuses it: for a file anywhere above its first function, for a function inside it or in the comment
# right above. Relies on clang-format: a function's body opens with a ') {' or a '{' of its own at the end of a line
# outside any block, and ends with a '}' in the first column.

function finish_file() {
    if (file != "" && lines > 800 && !file_excused) {
        printf "%s: %d lines, the limit is 800\n", file, lines
        failures++
    }
}

FNR == 1 {
    finish_file()
    file = FILENAME
    file_excused = inside = seen_function = comment_excuse = lines = 0
}

{ lines = FNR }

/shape: *[^ ]/ {
    if (inside) excused = 1
    else comment_excuse = 1
    if (!seen_function) file_excused = 1
}

!inside && /^[A-Za-z_].*=.*\{$/ { next }

!inside && (/\)( [A-Za-z_]+)? *\{$/ || /^\{$/) {
    inside = seen_function = 1
    start = FNR
    excused = comment_excuse
    name = /^\{$/ ? previous : $0
    next
}

inside && /^\}/ {
    if (FNR - start - 1 > 60 && !excused) {
        gsub(/^[ \t]+|[ \t]*\{?$/, "", name)
        printf "%s:%d: %d lines, the limit is 60: %s\n", FILENAME, start, FNR - start - 1, name
        failures++
    }
    inside = comment_excuse = 0
    next
}

!inside {
    if (/^[ \t]*$/) comment_excuse = 0
    previous = $0
}

END {
    finish_file()
    exit failures ? 1 : 0
}
