// SPDX-License-Identifier: Apache-2.0
// SQL's printf() and format() with a limit on the size of the result. query.c registers them.
#include "query/printf.h"

#include <stdint.h>
#include <string.h>

struct format {
    const char *at;
    sqlite3_value **values;
    int next, count;
};

// A number of the format, or the next argument for a *.
static sqlite3_int64 take_number(struct format *format) {
    sqlite3_int64 number = 0;
    if (*format->at == '*') {
        format->at++;
        number = format->next < format->count ? sqlite3_value_int(format->values[format->next]) : 0;
        format->next++;
        return number == INT32_MIN ? INT32_MAX : number < 0 ? -number : number;
    }
    for (; *format->at >= '0' && *format->at <= '9'; format->at++)
        number = number > INT32_MAX ? number : number * 10 + (*format->at - '0');
    return number;
}

// How many characters widths and precisions ask for, at most; SQLite takes them as an int.
static sqlite3_int64 longest_width(const char *text, sqlite3_value **values, int count) {
    struct format format = {.at = text, .values = values, .count = count};
    sqlite3_int64 total = 0;
    while ((format.at = strchr(format.at, '%')) != NULL) {
        format.at++;
        format.at += strspn(format.at, "-+ #!0,");
        total += take_number(&format);
        if (*format.at == '.') {
            format.at++;
            total += take_number(&format);
        }
        format.at += strspn(format.at, "l");
        format.next += *format.at != '%' && *format.at != 'n';
        format.at += *format.at != '\0';
    }
    return total;
}

static bool prepare(struct printf_plain *plain, int count) {
    if (plain->statement && plain->arguments == count)
        return true;
    sqlite3_finalize(plain->statement);
    plain->statement = NULL;
    if (!plain->db && sqlite3_open(":memory:", &plain->db) != SQLITE_OK)
        return false;
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int i = 0; i < count; i++)
        sqlite3_str_appendall(text, i ? ", ?" : "SELECT printf(?");
    sqlite3_str_appendall(text, ")");
    char *select = sqlite3_str_finish(text);
    plain->arguments = count;
    bool done = select && sqlite3_prepare_v2(plain->db, select, -1, &plain->statement, NULL) == SQLITE_OK;
    sqlite3_free(select);
    return done;
}

static void call(sqlite3_context *context, int count, sqlite3_value **values) {
    struct printf_plain *plain = sqlite3_user_data(context);
    const char *format = count ? (const char *)sqlite3_value_text(values[0]) : NULL;
    int most = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    if (!format)
        return; // NULL
    if (longest_width(format, values + 1, count - 1) > most) {
        sqlite3_result_error_toobig(context);
        return;
    }
    if (!prepare(plain, count)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (int i = 0; i < count; i++)
        (void)sqlite3_bind_value(plain->statement, i + 1, values[i]);
    sqlite3_limit(plain->db, SQLITE_LIMIT_LENGTH, most);
    if (sqlite3_step(plain->statement) == SQLITE_ROW)
        sqlite3_result_value(context, sqlite3_column_value(plain->statement, 0));
    else
        sqlite3_result_error_toobig(context);
    sqlite3_reset(plain->statement);
    sqlite3_clear_bindings(plain->statement);
}

bool printf_add(struct printf_plain *plain, sqlite3 *db) {
    static const char *const names[] = {"printf", "format"};
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    for (int i = 0; i < 2; i++)
        if (sqlite3_create_function_v2(db, names[i], -1, flags, plain, call, NULL, NULL, NULL) != SQLITE_OK)
            return false;
    return true;
}

void printf_finish(struct printf_plain *plain) {
    sqlite3_finalize(plain->statement);
    sqlite3_close(plain->db);
}
