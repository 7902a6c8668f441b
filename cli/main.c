// SPDX-License-Identifier: Apache-2.0
// tracesmith: the command line over the public API (include/tracesmith). The commands are in commands.c.
#include <stdio.h>
#include <string.h>

#include "cli/options/command.h"
#include "cli/options/help.h"
#include "cli/present/terminal.h"
#include "opened_trace.h"
#include "tracesmith/version.h"

static int write_version(void) {
    if (strcmp(TSMITH_VERSION_STRING, tsmith_version()) != 0)
        output_printf("tracesmith %s (library %s)\n", TSMITH_VERSION_STRING, tsmith_version());
    else
        output_printf("tracesmith %s\n", TSMITH_VERSION_STRING);
    return EXIT_DONE;
}

int command_version(const struct invocation *invocation) {
    if (!invocation_flag(invocation, "json"))
        return write_version();
    output_printf("{\"tracesmith\":\"%s\",\"library\":\"%s\"}\n", TSMITH_VERSION_STRING, tsmith_version());
    return EXIT_DONE;
}

static int unknown_command(const char *name) {
    const char *near = nearest(name, command_name_at);
    if (near)
        complain("unknown command '%s'; did you mean '%s'?", name, near);
    else
        complain("unknown command '%s'; see 'tracesmith help'", name);
    return EXIT_USAGE;
}

static const char *global_name_at(size_t index) {
    return global_options[index].name;
}

static int unknown_option(const char *word) {
    const char *near = word[1] == '-' ? nearest(word + 2, global_name_at) : NULL;
    if (near)
        complain("unknown option '%s'; did you mean '--%s'?", word, near);
    else
        complain("unknown option '%s' before the command; see 'tracesmith --help'", word);
    return EXIT_USAGE;
}

static int run(char **words) {
    struct invocation invocation;
    // Options before the command are the global ones.
    while (*words && (*words)[0] == '-') {
        const char *word = *words++;
        if (strcmp(word, "--no-color") == 0) {
            terminal_no_color();
        } else if (strcmp(word, "--no-cache") == 0) {
            trace_no_cache();
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            help_write_overview();
            return EXIT_DONE;
        } else if (strcmp(word, "--version") == 0) {
            return write_version();
        } else {
            return unknown_option(word);
        }
    }
    if (!*words) {
        help_write_overview();
        return EXIT_USAGE;
    }
    const struct command *command = command_find(*words);
    if (!command)
        return unknown_command(*words);
    if (!command_parse(command, words + 1, &invocation))
        return EXIT_USAGE;
    if (invocation.help) {
        help_write_command(command);
        return EXIT_DONE;
    }
    const char *format = command_option(command, "format") ? invocation_value(&invocation, "format") : NULL;
    const bool json = (command_option(command, "json") && invocation_flag(&invocation, "json")) ||
                      (format && strcmp(format, "json") == 0);
    if (json || (command_option(command, "csv") && invocation_flag(&invocation, "csv")) ||
        (format && strcmp(format, "text") != 0))
        output_for_programs(json);
    if (command_option(command, "exact"))
        text_csv_exact(invocation_flag(&invocation, "exact"));
    if (invocation.no_cache)
        trace_no_cache();
    if (command_option(command, "binary"))
        trace_set_binary(invocation_value(&invocation, "binary"));
    return invocation.version ? write_version() : command->run(&invocation);
}

int main(int argc, char **argv) {
    (void)argc;
    terminal_init();
    return output_finish(run(argv + 1));
}
