// SPDX-License-Identifier: Apache-2.0
// The table of commands. main.c and the generated help look commands up here.
#include <string.h>

#include "options.h"

const struct option global_options[] = {
    {.name = "help", .letter = 'h', .doc = "Print the description and the options of the command"},
    {.name = "no-cache",
     .doc = "Do not use or fill the cache of imported traces ($XDG_CACHE_HOME/tracesmith/imports); the same "
            "as TRACESMITH_NO_CACHE"},
    {.name = "no-color",
     .doc = "Do not use colors. Colors are used only on a terminal, and not if NO_COLOR is set"},
    {.name = "version", .doc = "Print the version"},
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
