// SPDX-License-Identifier: Apache-2.0
// query: statements one after the other, and what is wrong with them.
#include "cli/present/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "query_partial.h"
#include "tracesmith/stacks.h"

struct asking {
    struct trace trace;
    tsmith_query *query;
    struct rows rows;
    const char *sql;
    size_t length;
};

// ---- Ctrl-C

static tsmith_query *running;

// The first Ctrl-C ends the statement, the second the command.
static void interrupt(int signal) {
    (void)signal;
    tsmith_query_interrupt(running);
}

static void catch_interrupt(tsmith_query *query) {
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    running = query;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

// ---- what is wrong

// Shows the line of the SQL and where in it.
static void point_at(const struct asking *asking, uint64_t offset) {
    struct text line = {0}, before = {0};
    const char *at = asking->sql + offset, *end = asking->sql + asking->length;
    const char *first = at, *last = memchr(at, '\n', (size_t)(end - at));
    while (first > asking->sql && first[-1] != '\n')
        first--;
    last = last ? last : end;
    size_t columns = text_add_safe(&before, (tsmith_string){first, (size_t)(at - first)}, 0);
    text_add_safe(&line, (tsmith_string){first, (size_t)(last - first)}, 0);
    fprintf(stderr, "  %s\n  %*s^\n", text_cstr(&line), (int)(columns < 10000 ? columns : 0), "");
    text_finish(&line);
    text_finish(&before);
}

static int complain_of(const struct asking *asking, tsmith_status status, const tsmith_error *error,
                       size_t at) {
    complain("%s", error->message);
    if (status == TSMITH_ERROR_INVALID_ARGUMENT && error->offset < asking->length - at)
        point_at(asking, at + error->offset);
    return status == TSMITH_ERROR_STATE ? EXIT_NO : exit_code_of_input(status);
}

// ---- .tables and .schema

static tsmith_sql_value text_value(const char *cstr) {
    return (tsmith_sql_value){.type = TSMITH_SQL_TEXT, .text = text_string(cstr)};
}

static bool write_tables(struct asking *asking) {
    static const char *const names[] = {"table", "what it has"};
    const tsmith_query_table *table;
    if (!rows_begin(&asking->rows, names, 2))
        return false;
    for (size_t i = 0; (table = tsmith_query_table_at(asking->query, i)); i++) {
        const tsmith_sql_value values[] = {text_value(table->name), text_value(table->doc)};
        if (!rows_add(&asking->rows, values))
            return false;
    }
    return rows_end(&asking->rows);
}

static bool write_columns(struct asking *asking, const tsmith_query_table *table) {
    for (size_t i = 0; i < table->column_count; i++) {
        const tsmith_query_column *column = &table->columns[i];
        const tsmith_sql_value values[] = {text_value(table->name),
                                           text_value(column->name),
                                           text_value(column->type),
                                           text_value(column->unit),
                                           text_value(column->hidden ? "hidden" : ""),
                                           text_value(column->doc)};
        if (!rows_add(&asking->rows, values))
            return false;
    }
    return true;
}

// One table, or all; if `name` does not exist: false, and `*known` as well.
static bool write_schema(struct asking *asking, const char *name, bool *known) {
    static const char *const names[] = {"table", "column", "type", "unit", "in *", "what it is"};
    const tsmith_query_table *table;
    *known = !*name;
    for (size_t i = 0; (table = tsmith_query_table_at(asking->query, i)); i++)
        *known |= strcmp(table->name, name) == 0;
    if (!*known || !rows_begin(&asking->rows, names, sizeof names / sizeof names[0]))
        return false;
    for (size_t i = 0; (table = tsmith_query_table_at(asking->query, i)); i++)
        if ((!*name || strcmp(table->name, name) == 0) && !write_columns(asking, table))
            return false;
    return rows_end(&asking->rows);
}

// The next word of a line, in `word`; an empty one when there is none.
static const char *next_word(const char *at, const char *end, char *word, size_t size) {
    size_t length = 0;
    while (at < end && strchr(" \t\r;", *at))
        at++;
    for (; at < end && !strchr(" \t\r;", *at); at++)
        if (length + 1 < size)
            word[length++] = *at;
    word[length] = '\0';
    return at;
}

// A line that begins with a point.
static int command_line(struct asking *asking, const char *line, size_t length) {
    char command[64], table[128], more[2];
    bool known = true;
    const char *rest = next_word(line, line + length, command, sizeof command);
    rest = next_word(rest, line + length, table, sizeof table);
    (void)next_word(rest, line + length, more, sizeof more);
    if (*more || (*table && strcmp(command, ".tables") == 0)) {
        complain("a line that begins with a period must be .tables, .schema or .schema TABLE");
        return EXIT_USAGE;
    }
    if (strcmp(command, ".tables") == 0) {
        write_tables(asking);
    } else if (strcmp(command, ".schema") == 0) {
        write_schema(asking, table, &known);
    } else {
        complain("unknown command '%s'; available: .tables, .schema", command);
        return EXIT_USAGE;
    }
    if (known)
        return EXIT_DONE;
    complain("unknown table '%s'; .tables lists the tables", table);
    return EXIT_USAGE;
}

// ---- statements

static int answer_rows(struct asking *asking, size_t at, const char **names, tsmith_sql_value *values) {
    tsmith_error error;
    size_t count = tsmith_query_column_count(asking->query);
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < count; i++)
        names[i] = tsmith_query_column_name(asking->query, i);
    bool writing = !count || rows_begin(&asking->rows, names, count);
    while (writing && (status = tsmith_query_next(asking->query, &error)) == TSMITH_OK) {
        for (size_t i = 0; i < count; i++)
            values[i] = tsmith_query_value(asking->query, i);
        writing = rows_add(&asking->rows, values);
    }
    if (count && writing)
        rows_end(&asking->rows);
    if (!writing && asking->rows.failed) {
        complain("out of memory");
        return EXIT_LACKING;
    }
    return status < 0 ? complain_of(asking, status, &error, at) : EXIT_DONE;
}

static int answer_statement(struct asking *asking, size_t at, size_t *used) {
    tsmith_error error;
    tsmith_status status =
        tsmith_query_prepare(asking->query, asking->sql + at, asking->length - at, used, &error);
    if (status < 0)
        return complain_of(asking, status, &error, at);
    if (status == TSMITH_END)
        return EXIT_DONE;
    size_t count = tsmith_query_column_count(asking->query) + 1;
    const char **names = calloc(count, sizeof *names);
    tsmith_sql_value *values = calloc(count, sizeof *values);
    int code = EXIT_LACKING;
    if (names && values)
        code = answer_rows(asking, at, names, values);
    else
        complain("out of memory");
    free(names);
    free(values);
    return code;
}

static int answer_all(struct asking *asking) {
    size_t at = 0;
    int code = EXIT_DONE;
    while (at < asking->length && code == EXIT_DONE) {
        const char *sql = asking->sql + at;
        size_t used = 1;
        if (*sql == '.') {
            const char *end = memchr(sql, '\n', asking->length - at);
            used = end ? (size_t)(end - sql) : asking->length - at;
            code = command_line(asking, sql, used);
        } else if (!strchr(" \t\r\n;", *sql)) {
            code = answer_statement(asking, at, &used);
        }
        at += used;
    }
    return code;
}

static int answer(struct asking *asking) {
    struct text frame = {0};
    if (asking->rows.format != ROWS_JSON)
        return answer_all(asking);
    text_add_char(&frame, '{');
    trace_add_json_head(&frame, &asking->trace);
    text_add_cstr(&frame, ",\n\"results\":[");
    output_text(&frame);
    int code = answer_all(asking);
    trace_refresh(&asking->trace);
    text_add_cstr(&frame, "\n],\n");
    trace_add_json_state(&frame, &asking->trace);
    text_add_cstr(&frame, "}\n");
    output_text(&frame);
    text_finish(&frame);
    return code;
}

// ---- the command

// All of standard input.
static bool read_sql(struct text *out) {
    char buffer[65536];
    ssize_t got;
    while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) != 0) {
        if (got > 0)
            text_add(out, buffer, (size_t)got);
        else if (errno != EINTR)
            break;
    }
    if (got < 0)
        complain("cannot read standard input: %s", strerror(errno));
    return got == 0 && !out->failed;
}

static bool read_options(const struct invocation *invocation, struct asking *asking, struct text *sql) {
    bool json = invocation_flag(invocation, "json"), csv = invocation_flag(invocation, "csv");
    asking->rows.format = json ? ROWS_JSON : csv ? ROWS_CSV : ROWS_TEXT;
    if (json && csv) {
        complain("--json and --csv cannot be combined");
        return false;
    }
    if (invocation->operand_count != 2) {
        complain("query takes a trace and the SQL, or partials");
        return false;
    }
    if (access(invocation->operands[0], F_OK) != 0 && strchr(invocation->operands[0], ' ') &&
        access(invocation->operands[1], F_OK) == 0) {
        complain("the file comes before the SQL: tracesmith query %s SQL", invocation->operands[1]);
        return false;
    }
    if (strcmp(invocation->operands[1], "-") != 0) {
        text_add_cstr(sql, invocation->operands[1]);
        return !sql->failed;
    }
    if (strcmp(invocation->operands[0], "-") != 0)
        return read_sql(sql);
    complain("the trace and the SQL cannot both come from standard input");
    return false;
}

int command_query(const struct invocation *invocation) {
    struct asking asking = {.sql = ""};
    struct text sql = {0};
    tsmith_error error;
    int code = EXIT_USAGE;
    if (invocation_flag(invocation, "partial") || query_is_partial(invocation->operands[0])) {
        const bool json = invocation_flag(invocation, "json");
        asking.rows.format = json ? ROWS_JSON : invocation_flag(invocation, "csv") ? ROWS_CSV : ROWS_TEXT;
        code = query_partials(invocation, &asking.rows);
        goto done;
    }
    if (!read_options(invocation, &asking, &sql))
        goto done;
    asking.sql = text_cstr(&sql);
    asking.length = sql.length;
    code = trace_open(invocation->operands[0], &asking.trace);
    if (code != EXIT_DONE)
        goto done;
    if (asking.trace.opened && tsmith_dictionary_stack_count(asking.trace.dictionary) > 1)
        (void)tsmith_trace_symbolize(asking.trace.opened, NULL,
                                     NULL); // what has no name is module and offset
    tsmith_status status = tsmith_query_open(asking.trace.file, &asking.query, &error);
    if (status < 0) {
        complain("%s", error.message);
        code = exit_code_of_input(status);
    } else {
        catch_interrupt(asking.query);
        code = answer(&asking);
        signal(SIGINT, SIG_DFL);
    }
    // Losses are not reported if the reader of the answer has exited, or the question was wrong.
    if (code == EXIT_DONE && output_flush())
        code = trace_report(&asking.trace);
    tsmith_query_close(asking.query);
    trace_close(&asking.trace);
done:
    rows_finish(&asking.rows);
    text_finish(&sql);
    return code;
}
