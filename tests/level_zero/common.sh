# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the Level Zero agent share; sourced. Builds the simulated driver and the program into $work, and selects the
# driver. Skips where Level Zero is not installed.
api=level-zero
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
printf '#include <level_zero/ze_ddi.h>\nint main(void) { return (int)zeInit(0); }\n' >"$work/probe.c"
"${CC:-cc}" -o "$work/probe" "$work/probe.c" -lze_loader 2>/dev/null ||
    skip "no Level Zero loader to link with (Debian: apt install libze-dev)"
headers=$(printf '#include <level_zero/ze_api.h>\n' | "${CC:-cc}" -E -x c - | sed -n 's|.*"\(.*\)/ze_api.h".*|\1|p' | head -n 1)

# The loader asks a driver for every table that it knows.
cat "$headers"/ze_ddi.h "$headers"/zet_ddi.h "$headers"/zes_ddi.h |
    sed -n 's/^\(z[est]*Get[A-Za-z]*ProcAddrTable\).*/\1/p' | sort -u >"$work/tables"
sed -n 's/^TABLE(\([A-Za-z]*\),.*/\1/p' "$here/mock/driver.c" | sort >"$work/tables.made"
comm -23 "$work/tables" "$work/tables.made" |
    sed 's/.*/int &(int version, void *table) { (void)version, (void)table; return 0; }/' >"$work/tables.c"
"${CC:-cc}" -O1 -shared -fPIC -w -o "$work/driver.so" "$here/mock/driver.c" "$work/tables.c"
"${CC:-cc}" -O1 -o "$work/lists" "$here/lists.c" -lze_loader
export ZE_ENABLE_ALT_DRIVERS="$work/driver.so"
