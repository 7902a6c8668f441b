# SPDX-License-Identifier: Apache-2.0
# awk -f opening.awk FILE...: prints every file that does not begin with a comment (below the license) on the purpose
# of the file. A 'shape:' excuse alone is no such comment.
FNR == 1 {
    if (open) missing(last)
    open = 1
    last = FILENAME
    next
}

open && /^\/[\/*] *(shape:.*)?$/ { next }

open && /^\/[\/*] *[A-Za-z`.\/"]/ {
    open = 0
    next
}

open && !/^[ \t]*$/ {
    missing(FILENAME)
    open = 0
}

function missing(file) {
    printf "%s: no opening comment that says what the file is for and who calls it\n", file
    failures++
}

END {
    if (open) missing(last)
    exit failures ? 1 : 0
}
