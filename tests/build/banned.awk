# SPDX-License-Identifier: Apache-2.0
# awk -v banned='name name ...' -f banned.awk FILE...: prints every call of a banned function outside comments and
# string literals.

# The line without comments, string and character literals; in_comment carries a /* */ over lines.
function code_of(line,    out, i, n, c, two, quote) {
    out = ""
    n = length(line)
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) quote = ""
        } else if (two == "//") {
            break
        } else if (two == "/*") {
            in_comment = 1
            i++
        } else if (c == "\"" || c == "'") {
            quote = c
            out = out " "
        } else {
            out = out c
        }
    }
    return out
}

BEGIN {
    n = split(banned, list, " ")
    for (i = 1; i <= n; i++) is_banned[list[i]] = 1
}

FNR == 1 { in_comment = 0 }

{
    code = code_of($0)
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) {
        name = substr(code, RSTART, RLENGTH - 1)
        sub(/ +$/, "", name)
        before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
        # A member of that name (layer->system(...)) is not the C library's.
        if (name in is_banned && before != "." && before != ">" && before !~ /[A-Za-z0-9_]/) {
            printf "%s:%d: %s is banned\n", FILENAME, FNR, name
            failures++
        }
        code = substr(code, RSTART + RLENGTH)
    }
}

END {
    exit failures ? 1 : 0
}
