// SPDX-License-Identifier: Apache-2.0
// Shell completions, written from the table of commands.
#include <string.h>

#include "help.h"

// A word in single quotes for any shell: no doc of ours has a control character, quotes are closed and
// reopened.
static void add_quoted(struct text *text, const char *cstr) {
    text_add_char(text, '\'');
    for (; *cstr; cstr++) {
        if (*cstr == '\'')
            text_add_cstr(text, "'\\''");
        else
            text_add_char(text, *cstr);
    }
    text_add_char(text, '\'');
}

static void add_word_list(struct text *text, const char *(*word)(size_t index)) {
    for (size_t i = 0; word && word(i); i++)
        text_add_format(text, "%s%s", i ? " " : "", word(i));
}

static void add_command_names(struct text *text) {
    for (size_t i = 0; command_name_at(i); i++)
        text_add_format(text, "%s%s", i ? " " : "", command_name_at(i));
}

// ---- bash

// "-o|--output" as a pattern of case
static void add_bash_pattern(struct text *text, const struct command *command, const struct option *option) {
    text_add_format(text, "    %s:--%s", command->name, option->name);
    if (option->letter)
        text_add_format(text, "|%s:-%c", command->name, option->letter);
    text_add_char(text, ')');
}

static void add_bash_values(struct text *text) {
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        for (const struct option *option = command->options; option->name; option++) {
            if (!option->argument)
                continue;
            add_bash_pattern(text, command, option);
            if (option->word) {
                text_add_cstr(text, " words='");
                add_word_list(text, option->word);
                text_add_format(text, "'; list=%d ;;\n", option->list);
            } else {
                text_add_cstr(text, option->kind == VALUE_TRACE || option->kind == VALUE_FILE
                                        ? " COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
                                        : " return ;;\n");
            }
        }
    }
}

static void add_bash_options(struct text *text) {
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        text_add_format(text, "    %s) options='", command->name);
        for (const struct option *option = command->options; option->name; option++)
            text_add_format(text, "--%s ", option->name);
        for (const struct option *option = global_options; option->name; option++)
            text_add_format(text, "%s--%s", option == global_options ? "" : " ", option->name);
        text_add_cstr(text, "'; operands='");
        add_word_list(text, command->operand_word);
        text_add_format(text, "'; operand=%s ;;\n",
                        command->operand_kind == VALUE_PROGRAM   ? "program"
                        : command->operand_kind == VALUE_COMMAND ? "command"
                        : command->operands                      ? "file"
                                                                 : "none");
    }
}

void help_add_bash(struct text *text) {
    text_add_cstr(text,
                  "# bash completion for tracesmith, made by 'tracesmith help --as bash'\n"
                  "_tracesmith() {\n"
                  "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local command= at=1 words= list=0 options= operands= operand=none prefix=\n"
                  "    COMPREPLY=()\n"
                  "    while [ $at -lt $COMP_CWORD ]; do\n"
                  "        case ${COMP_WORDS[at]} in -*) ;; *) command=${COMP_WORDS[at]}; break ;; esac\n"
                  "        at=$((at + 1))\n"
                  "    done\n"
                  "    if [ -z \"$command\" ]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    add_command_names(text);
    for (const struct option *option = global_options; option->name; option++)
        text_add_format(text, " --%s", option->name);
    text_add_cstr(text, "' -- \"$current\"))\n"
                        "        return\n"
                        "    fi\n"
                        "    case $command:$previous in\n");
    add_bash_values(text);
    text_add_cstr(
        text, "    esac\n"
              "    if [ -n \"$words\" ]; then\n"
              "        if [ $list = 1 ]; then\n"
              "            case $current in *,*) prefix=${current%,*}, ;; esac\n"
              "        fi\n"
              "        COMPREPLY=($(compgen -P \"$prefix\" -W \"$words\" -- \"${current#\"$prefix\"}\"))\n"
              "        return\n"
              "    fi\n"
              "    case $command in\n");
    add_bash_options(text);
    text_add_cstr(text, "    esac\n"
                        "    case $operand:$current in\n"
                        "    *:-*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n"
                        "    program:*) COMPREPLY=($(compgen -c -f -- \"$current\")) ;;\n"
                        "    file:*) COMPREPLY=($(compgen -f -W \"$operands\" -- \"$current\")) ;;\n"
                        "    command:*) COMPREPLY=($(compgen -W '");
    add_command_names(text);
    text_add_cstr(text, "' -- \"$current\")) ;;\n"
                        "    esac\n"
                        "}\n"
                        "complete -o filenames -F _tracesmith tracesmith\n");
}

// ---- zsh

// The text of a description inside an _arguments spec: brackets and colons are its syntax.
static void add_zsh_doc(struct text *text, const char *doc) {
    for (; *doc; doc++) {
        if (strchr("[]:\\", *doc))
            text_add_char(text, '\\');
        text_add_char(text, *doc);
    }
}

static void add_zsh_option(struct text *text, const struct option *option) {
    struct text spec = {0};
    const char *forms[] = {NULL, NULL};
    struct text letter = {0}, name = {0};
    text_add_format(&name, "--%s", option->name);
    text_add_format(&letter, "-%c", option->letter);
    forms[0] = text_cstr(&name);
    forms[1] = option->letter ? text_cstr(&letter) : NULL;
    for (size_t i = 0; i < 2 && forms[i]; i++) {
        text_clear(&spec);
        text_add_cstr(&spec, forms[i]);
        text_add_char(&spec, '[');
        add_zsh_doc(&spec, option->doc);
        text_add_char(&spec, ']');
        if (option->argument) {
            text_add_format(&spec, ":%s:", option->argument);
            if (option->word) {
                text_add_cstr(&spec, option->list ? "_values -s , value " : "(");
                add_word_list(&spec, option->word);
                text_add_cstr(&spec, option->list ? "" : ")");
            } else if (option->kind == VALUE_TRACE || option->kind == VALUE_FILE) {
                text_add_cstr(&spec, "_files");
            }
        }
        text_add_cstr(text, " \\\n            ");
        add_quoted(text, text_cstr(&spec));
    }
    text_finish(&spec);
    text_finish(&letter);
    text_finish(&name);
}

static void add_zsh_command(struct text *text, const struct command *command) {
    text_add_format(text, "    %s)\n        _arguments -s", command->name);
    for (const struct option *option = command->options; option->name; option++)
        add_zsh_option(text, option);
    for (const struct option *option = global_options; option->name; option++)
        add_zsh_option(text, option);
    if (command->operand_kind == VALUE_PROGRAM) {
        text_add_cstr(text, " \\\n            '*::program:_normal'");
    } else if (command->operand_kind == VALUE_COMMAND) {
        text_add_cstr(text, " \\\n            '1:command:(");
        add_command_names(text);
        text_add_cstr(text, ")'");
    } else if (command->operand_word) {
        text_add_cstr(text, " \\\n            '*:file or name:{ _files; compadd -- ");
        add_word_list(text, command->operand_word);
        text_add_cstr(text, " }'");
    } else if (command->operands) {
        text_add_format(text, " \\\n            '%s:file:_files'", command->operands_most > 1 ? "*" : "1");
    }
    text_add_cstr(text, "\n        ;;\n");
}

void help_add_zsh(struct text *text) {
    text_add_cstr(text, "#compdef tracesmith\n"
                        "# zsh completion for tracesmith, made by 'tracesmith help --as zsh'\n"
                        "_tracesmith() {\n"
                        "    local -a commands\n"
                        "    commands=(");
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        struct text pair = {0};
        text_add_format(&pair, "%s:%s", command->name, command->doc);
        text_add_cstr(text, "\n        ");
        add_quoted(text, text_cstr(&pair));
        text_finish(&pair);
    }
    text_add_cstr(text, "\n    )\n"
                        "    if (( CURRENT == 2 )); then\n"
                        "        _describe command commands\n"
                        "        return\n"
                        "    fi\n"
                        "    local command=$words[2]\n"
                        "    shift words\n"
                        "    (( CURRENT-- ))\n"
                        "    case $command in\n");
    for (size_t i = 0; commands[i]; i++)
        add_zsh_command(text, commands[i]);
    text_add_cstr(text, "    esac\n"
                        "}\n"
                        "if [ \"$funcstack[1]\" = _tracesmith ]; then\n"
                        "    _tracesmith \"$@\"\n"
                        "else\n"
                        "    compdef _tracesmith tracesmith\n"
                        "fi\n");
}

// ---- fish

static void add_fish_option(struct text *text, const char *condition, const struct option *option) {
    text_add_format(text, "complete -c tracesmith -n '%s'", condition);
    if (option->letter)
        text_add_format(text, " -s %c", option->letter);
    text_add_format(text, " -l %s -d ", option->name);
    add_quoted(text, option->doc);
    if (option->word) {
        text_add_cstr(text, option->list ? " -x -a '(__fish_append , " : " -x -a '");
        add_word_list(text, option->word);
        text_add_cstr(text, option->list ? ")'" : "'");
    } else if (option->argument) {
        text_add_cstr(text, option->kind == VALUE_TRACE || option->kind == VALUE_FILE ? " -r -F" : " -x");
    }
    text_add_char(text, '\n');
}

void help_add_fish(struct text *text) {
    text_add_cstr(text, "# fish completion for tracesmith, made by 'tracesmith help --as fish'\n"
                        "complete -c tracesmith -f -n __fish_use_subcommand\n");
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        text_add_format(text, "complete -c tracesmith -n __fish_use_subcommand -f -a %s -d ", command->name);
        add_quoted(text, command->doc);
        text_add_char(text, '\n');
    }
    for (const struct option *option = global_options; option->name; option++)
        add_fish_option(text, "true", option);
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        struct text condition = {0};
        text_add_format(&condition, "__fish_seen_subcommand_from %s", command->name);
        for (const struct option *option = command->options; option->name; option++)
            add_fish_option(text, text_cstr(&condition), option);
        if (command->operand_kind == VALUE_COMMAND) {
            text_add_format(text, "complete -c tracesmith -n '%s' -f -a '", text_cstr(&condition));
            add_command_names(text);
            text_add_cstr(text, "'\n");
        } else if (command->operand_kind == VALUE_PROGRAM) {
            text_add_format(text, "complete -c tracesmith -n '%s' -F -a '(__fish_complete_command)'\n",
                            text_cstr(&condition));
        } else if (command->operand_word) {
            text_add_format(text, "complete -c tracesmith -n '%s' -F -a '", text_cstr(&condition));
            add_word_list(text, command->operand_word);
            text_add_cstr(text, "'\n");
        } else if (!command->operands) {
            text_add_format(text, "complete -c tracesmith -n '%s' -f\n", text_cstr(&condition));
        }
        text_finish(&condition);
    }
}
