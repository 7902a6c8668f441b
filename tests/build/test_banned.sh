#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions that have no place here: unbounded copies, shells, predictable temporary names, parsers without errors,
# hidden state; words of records that are written by their place; columns of a batch that are read without their validity; and, in code that runs in profiled programs, whatever could end or change them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${TRACESMITH_SOURCE_DIR:-$here/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unbounded='strcpy strcat stpcpy sprintf vsprintf gets strncpy strncat alloca scanf sscanf fscanf'
shells='system popen'
names='mktemp tmpnam tempnam tmpfile'
careless='atoi atol atoll atof strtok rand srand asctime ctime gmtime localtime'
everywhere="$unbounded $shells $names $careless"
in_agents="$everywhere exit _exit _Exit quick_exit abort assert raise printf fprintf puts fputs perror signal sigaction"

# search NAMES DIR...
search() {
    names=$1
    shift
    : >"$work/files"
    for dir in "$@"; do
        [ ! -d "$dir" ] || find "$dir" -type f \( -name '*.[ch]' -o -name '*.hpp' \) >>"$work/files"
    done
    [ ! -s "$work/files" ] || tr '\n' '\0' <"$work/files" | xargs -0 awk -v banned="$names" -f "$here/banned.awk"
}

mkdir "$work/planted"
cat >"$work/planted/good.c" <<'C'
// sprintf(a, b) in a comment, /* system() */
/* strcpy(a,
   strcpy(b, c)); */
const char *text = "call system(\"x\") now";
int my_system(int a) { return layer->system(a) + layer.popen(1) + snprintf(0, 0, "%c", '"'); }
C
search "$everywhere" "$work/planted" || {
    echo "self-test: good code was refused"
    exit 1
}
for call in 'strcpy(a, b)' 'if (system ("x"))' 'x = (char)atoi(s)' '"sprintf" + sprintf(a)' '/* c */ gets(a)'; do
    printf '%s;\n' "$call" >"$work/planted/bad.c"
    if search "$everywhere" "$work/planted" >/dev/null; then
        echo "self-test: $call was not found"
        exit 1
    fi
done

failed=0
search "$everywhere" src cli || failed=1
search "$in_agents" agents || failed=1
# cmocka 2 deprecates it, and it compares negative numbers as large ones: assert_true(is_between(...)) of support/test.h.
search assert_in_range tests || failed=1
# An agent writes the words of a record by name, from the table that the shape is made from (src/wire/record_part.h).
by_place='(^|[^A-Za-z_0-9])at\[[0-9]+\] *=([^=]|$)'
printf '    at[3] = name;\n' | grep -qE "$by_place" || {
    echo "self-test: a word written by its place was not found"
    exit 1
}
! grep -rnE "$by_place" agents || failed=1
# A reader of batches goes through tracesmith/view.h, whose accessors return whether a value is known. Raw columns are for the
# rooms that make, store or hand on whole columns: src/event, src/sbt, src/arrow, src/collect.
raw='tsmith_batch_column tsmith_batch_column_at tsmith_batch_get tsmith_column_has batch_column_bits'
printf 'bool known = tsmith_batch_get(batch, field, row, &bits);\n' >"$work/planted/bad.c"
if search "$raw" "$work/planted" >/dev/null; then
    echo "self-test: a raw column was not found"
    exit 1
fi
readers=$(find src -mindepth 1 -maxdepth 1 -type d ! -name event ! -name sbt ! -name arrow ! -name collect)
# shellcheck disable=SC2086 # names of our own folders
search "$raw" $readers cli bindings examples || failed=1

# in_text PATTERN PATH...: the places of a pattern in code and documents.
in_text() {
    pattern=$1
    shift
    grep -rniwE --include='*.[ch]' --include='*.[ch]pp' --include='*.rs' --include='*.cc' --include='*.ts' --include='*.md' \
        --include='*.py' --include='*.sh' --exclude=benchmarks.md --exclude=test_banned.sh --exclude=test_names.sh -- "$pattern" "$@"
}

# words PATH...: prints the places of words that $here/words.txt lists, and what to write instead. All words are one pattern
# first: to search for each takes a minute.
words() {
    in_text "$(sed -n '/^[^#]/s/ | .*//p' "$here/words.txt" | paste -sd '|')" "$@" >/dev/null || return 0
    while IFS= read -r line; do
        case $line in '#'* | '') continue ;; esac
        pattern=${line%% | *}
        instead=${line#* | }
        instead=${instead%% | *}
        if in_text "$pattern" "$@"; then
            echo "write instead: $instead (tests/build/words.txt)"
        fi
    done <"$here/words.txt"
    return 1
}
rm "$work/planted/bad.c"
words "$work/planted" || {
    echo "self-test: good words were refused"
    exit 1
}
printf '// The thread beside it.\n' >"$work/planted/bad.c"
if words "$work/planted" >/dev/null; then
    echo "self-test: a word of words.txt was not found"
    exit 1
fi
words include src agents cli bindings studio/src bench fuzz examples tests docs README.md ARCHITECTURE.md CONTRIBUTING.md || failed=1
[ "$failed" -eq 0 ]
