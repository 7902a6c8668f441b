# SPDX-License-Identifier: Apache-2.0
# awk -f arrows.awk arrows.txt FILE...: prints every #include that arrows.txt does not allow, and every file
# whose room it does not name. Paths are relative to the root of the tree.

function room_of(path,    n, part) {
    n = split(path, part, "/")
    return n == 1 ? "" : n == 2 ? part[1] : part[1] "/" part[2]
}

# The row of a room: its own, or one for all folders of its parent, or its parent's (cli/sub is cli).
function row_of(room,    parent) {
    if (room in rows) return room
    parent = room
    sub(/\/.*/, "", parent)
    if ((parent "/*") in rows) return parent "/*"
    return parent in rows ? parent : ""
}

function bad(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why
    failures++
}

function check_vendor(header,    prefix, n, list, i, seen) {
    for (prefix in vendors) {
        if (index(header, prefix) != 1) continue
        seen = 0
        n = split(vendors[prefix], list, " ")
        for (i = 1; i <= n; i++) if (index(FILENAME, list[i]) == 1) seen = 1
        if (!seen) bad("<" header ">: a vendor's header, allowed in" vendors[prefix] " only")
    }
}

function check_ours(header,    room, row, n, list, i, top, target_room) {
    if (header ~ /(^|\/)\.\.(\/|$)/) { bad("\"" header "\" climbs out of its folder"); return }
    room = room_of(FILENAME)
    if (index(header, "tracesmith/") == 1) return
    if (header !~ /\//) {
        if (!((FILENAME_dir "/" header) in present) && !((room "/" header) in present))
            bad("\"" header "\" is not in this room; write room/file.h")
        return
    }
    split(header, top, "/")
    if (("src/" top[1]) == room || room_of(header) == room) return
    row = row_of(room)
    n = split(rows[row], list, " ")
    # A room within a room that has a row of its own is a room of its own.
    target_room = room_of(header) in rows ? room_of(header) : top[1]
    for (i = 1; i <= n; i++) if (list[i] == target_room) return
    bad("\"" header "\": " (row == "" ? room : row) " may not include it")
}

BEGIN {
    for (i = 2; i < ARGC; i++) present[ARGV[i]] = 1
}

FNR == 1 && NR != 1 {
    FILENAME_dir = FILENAME
    sub(/\/[^\/]*$/, "", FILENAME_dir)
    if (row_of(room_of(FILENAME)) == "") bad("no row in arrows.txt names this room")
}

# The table itself.
NR == FNR {
    sub(/#.*/, "")
    if (/^vendor /) {
        key = $2
        sub(/:$/, "", key)
        $1 = $2 = ""
        vendors[key] = $0
    } else if (/:/) {
        key = $1
        sub(/:$/, "", key)
        $1 = ""
        rows[key] = $0
    }
    next
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    header = $0
    sub(/^[^"]*"/, "", header)
    sub(/".*/, "", header)
    check_ours(header)
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    check_vendor(header)
}

END {
    exit failures ? 1 : 0
}
