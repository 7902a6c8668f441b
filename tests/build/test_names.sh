#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No static function of src/, agents/ or cli/ has one of the names below: a verb, or less, that does not say to what.
# put_row, keep_name, has_room say it. Methods of a table (next, finish, release, write, ...) are named like their member.
set -eu
cd "${TRACESMITH_SOURCE_DIR:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

refused='account aim alone ask asked become begins believed belongs between cannot carry change changed charge consider cover
    cut decide decides differs divide emit ends explains extends fit fits fold follow forget fuse get give handle has have hear hide
    hold holds is job judge keep known lack lacks lasts least look lose lost lower made make match matches meet mix move moved moves
    must near note now observe offer own pass permuted pick place put reap recall refuse reject remember rest retire revive same
    say says see serve settle share show side sift soon spend spread step survive take takes tell text tidy told touches try
    under understand unite use uses verdict wait waited want wanted warn whole widen wishes within'
pattern="^(__attribute__.* )?static [A-Za-z_0-9 *]*[ *]($(printf '%s' "$refused" | tr -s ' \n' '||'))\\("

# search PATH...: prints the static functions with a refused name.
search() { ! grep -rnE --include='*.[ch]' -- "$pattern" "$@"; }

mkdir "$work/planted"
printf '%s\n' 'static bool keep_name(void) {' 'static bool is_known(const char *name) {' 'bool keep(void) {' \
    'static struct row *next(struct rows *rows) {' '    static int put(int);' >"$work/planted/good.c"
search "$work/planted" || {
    echo "self-test: a good name was refused"
    exit 1
}
for line in 'static bool keep(void) {' 'static inline struct row *take(struct rows *rows,' 'static void put(int a);'; do
    printf '%s\n' "$line" >"$work/planted/bad.c"
    if search "$work/planted" >/dev/null; then
        echo "self-test: not refused: $line"
        exit 1
    fi
done

search src cli agents || {
    echo "name these by what they do to what"
    exit 1
}
