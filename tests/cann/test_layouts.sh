#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent's table of MSPTI's records (agents/cann/mspti.h) against MSPTI's public headers: MSPTI_HEADERS names their folder.
set -eu
headers=${MSPTI_HEADERS-}
[ -n "$headers" ] || headers=${ASCEND_HOME_PATH:-/usr/local/Ascend/ascend-toolkit/latest}/include/mspti
[ -f "$headers/mspti_activity.h" ] || { echo "skipped: MSPTI's headers are not in $headers (set MSPTI_HEADERS)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The two have names in common: theirs get another prefix, as enumerators.
{
    echo '#include <stddef.h>'
    for header in activity callback cbid result; do echo "#include <mspti_$header.h>"; done
    sed -n '/^#define MSPTI_KINDS/,/^$/p; /^#define MSPTI_MEMBERS/,/^$/p' "${TRACESMITH_SOURCE_DIR:?}/agents/cann/mspti.h" | sed '/^enum/,/^};/d'
    # Which kinds and structs this version of the headers has.
    cat <<'C'
#define MEMBER(record, name, offset, type, struct_name, theirs) \
    _Static_assert(offsetof(struct_name, theirs) == offset, #struct_name "." #theirs); \
    _Static_assert(sizeof(((struct_name *)0)->theirs) == sizeof(type), "size of " #struct_name "." #theirs);
MSPTI_MEMBERS(MEMBER)
#define KIND(NAME, number, struct_name, bytes) \
    _Static_assert((int)MSPTI_ACTIVITY_KIND_##NAME == number, #NAME); \
    _Static_assert(sizeof(struct_name) == bytes, "bytes of " #NAME);
MSPTI_KINDS(KIND)
_Static_assert(MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == 2 && MSPTI_ERROR_MAX_LIMIT_REACHED == 3, "results");
_Static_assert(MSPTI_CBID_RUNTIME_LAUNCH == 10 && MSPTI_CBID_RUNTIME_FFTS_LAUNCH == 14 && MSPTI_CB_DOMAIN_RUNTIME == 1 && MSPTI_API_ENTER == 0, "callbacks");
_Static_assert(offsetof(msptiCallbackData, functionName) == 8, "callback data");
C
} >"$work/theirs.c"
if ! grep -q MSPTI_ACTIVITY_KIND_OVERHEAD "$headers/mspti_activity.h"; then
    sed -i '/(overhead, \|(OVERHEAD, /d; s/\(RUNTIME_API, 12, msptiActivityApi, 48)\) *\\/\1/; s/\(correlation, 64, uint64_t, msptiActivityCommunication, correlationId)\) *\\/\1/' "$work/theirs.c"
fi
grep -c 'MEMBER(' "$work/theirs.c" >"$work/count"
[ "$(cat "$work/count")" -ge 50 ] || { echo "FAILED: the table is not read: $(cat "$work/count")"; exit 1; }
${CC:-cc} -fsyntax-only -w -I"$headers" "$work/theirs.c"
echo "compared with $headers"
