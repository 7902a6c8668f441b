// SPDX-License-Identifier: Apache-2.0
// Lists the event kinds and import formats for the help of options. commands_convert.c calls it.
#include <stddef.h>

#include "options.h"
#include "tracesmith/import.h"
#include "tracesmith/schema.h"

const char *option_kind_word(size_t index) {
    static const char *const names[] = {
#define NAME(NAME_, number, name, doc) name,
        TSMITH_KIND_TABLE(NAME)
#undef NAME
            NULL};
    return names[index];
}

const char *option_kind_doc(size_t index) {
    static const char *const docs[] = {
#define DOC(NAME_, number, name, doc) doc,
        TSMITH_KIND_TABLE(DOC)
#undef DOC
    };
    return docs[index];
}

const char *option_import_word(size_t index) {
    return tsmith_import_format_name((unsigned)index);
}

const char *option_import_doc(size_t index) {
    return tsmith_import_format_doc((unsigned)index);
}
