// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "options.h"

const struct option global_options[] = {
    {.name = "help", .letter = 'h', .doc = "Say what the command does and which options it has"},
    {.name = "no-color",
     .doc = "Use no colors; they are only used on a terminal, and not when NO_COLOR is set"},
    {.name = "version", .doc = "Say which version this is"},
    END_OF_OPTIONS};

// In the order of help.
const struct command *const commands[] = {
    &profile_entry,   &view_entry,    &info_entry, &recover_entry, &devices_entry,
    &benchmark_entry, &version_entry, &help_entry, NULL,
};

const struct command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

const char *command_name_at(size_t index) {
    return commands[index] ? commands[index]->name : NULL;
}
