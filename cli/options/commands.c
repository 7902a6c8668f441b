// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "options.h"

const struct option global_options[] = {
    {.name = "help", .letter = 'h', .doc = "Say what the command does and which options it has"},
    {.name = "no-cache",
     .doc = "Do not use or fill the cache of imported traces ($XDG_CACHE_HOME/tracesmith/imports); as with "
            "TRACESMITH_NO_CACHE"},
    {.name = "no-color",
     .doc = "Use no colors; they are only used on a terminal, and not when NO_COLOR is set"},
    {.name = "version", .doc = "Say which version this is"},
    END_OF_OPTIONS};

const struct command *const commands[] = {
#define ENTRY(name) &name##_entry,
    COMMAND_TABLE(ENTRY)
#undef ENTRY
        NULL};

const struct command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

const char *command_name_at(size_t index) {
    return commands[index] ? commands[index]->name : NULL;
}
