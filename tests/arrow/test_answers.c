// SPDX-License-Identifier: Apache-2.0
// Tables of reports and answers of SQL as Arrow arrays, compared with the cells and rows that they were made
// from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arrow_rules.h"

// ---- tables

static void a_table_becomes_an_array(void **state) {
    static const tsmith_report_column COLUMNS[] = {{"name", TSMITH_CELL_TEXT},
                                                   {"time", TSMITH_CELL_DURATION},
                                                   {"share", TSMITH_CELL_SHARE},
                                                   {"size", TSMITH_CELL_BYTES}};
    static const char *const NAMES[] = {"name", "time_ns", "share", "size_bytes"}, *const FORMATS[] = {
                                                                                       "U", "l", "g", "l"};
    tsmith_cell cells[100][4];
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    int code;
    (void)state;
    for (int row = 0; row < 100; row++) {
        cells[row][0] = (tsmith_cell){row % 3 != 0, {.text = row % 2 ? "odd\xff" : "even"}};
        cells[row][1] = (tsmith_cell){row % 4 != 0, {.integer = row - 50}};
        cells[row][2] = (tsmith_cell){1, {.number = row / 7.0}};
        cells[row][3] = (tsmith_cell){0, {.integer = 77}};
    }
    const tsmith_report_table table = {"made", "a row", COLUMNS, 4, cells[0], 100};
    assert_int_equal(tsmith_arrow_table(&table, &stream, NULL), TSMITH_OK);
    memset(cells, 0x55, sizeof cells); // it was copied
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    arrow_check_schema(&schema);
    arrow_check_array(&schema, &array);
    assert_int_equal(array.length, 100);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(schema.children[i]->name, NAMES[i]);
        assert_string_equal(schema.children[i]->format, FORMATS[i]);
    }
    for (int64_t row = 0; row < 100; row++) {
        const tsmith_string text = utf8_text_at(array.children[0], row);
        assert_int_equal(arrow_is_valid(array.children[0], row), row % 3 != 0);
        if (row % 3)
            assert_memory_equal(text.bytes, row % 2 ? "odd\xef\xbf\xbd" : "even", text.length);
        assert_int_equal(arrow_is_valid(array.children[1], row), row % 4 != 0);
        if (row % 4)
            assert_int_equal(((const int64_t *)array.children[1]->buffers[1])[row], row - 50);
        assert_true(((const double *)array.children[2]->buffers[1])[row] == (double)row / 7.0);
        assert_false(arrow_is_valid(array.children[3], row));
    }
    arrow_drop_array(&array);
    arrow_drop_schema(&schema);
    assert_int_equal(arrow_read_all(&stream, &code), 0);
    arrow_drop_stream(&stream);

    const tsmith_report_table empty = {"empty", NULL, COLUMNS, 4, NULL, 0};
    assert_int_equal(tsmith_arrow_table(&empty, &stream, NULL), TSMITH_OK);
    assert_int_equal(arrow_read_all(&stream, &code), 1);
    assert_int_equal(code, 0);
    arrow_drop_stream(&stream);
}

// ---- SQL

struct asking {
    struct made_trace made;
    FILE *file;
    tsmith_sbt *trace;
    tsmith_query *query;
};

static struct asking begin_asking(void) {
    struct asking asking;
    asking.trace = arrow_make_file(&asking.file, &asking.made);
    assert_int_equal(tsmith_query_open(asking.trace, &asking.query, NULL), TSMITH_OK);
    return asking;
}

static void end_asking(struct asking *asking) {
    tsmith_query_close(asking->query);
    tsmith_sbt_close(asking->trace);
    assert_int_equal(fclose(asking->file), 0);
    made_trace_finish(&asking->made);
}

static void prepare(struct asking *asking, const char *sql) {
    size_t used;
    assert_int_equal(tsmith_query_prepare(asking->query, sql, strlen(sql), &used, NULL), TSMITH_OK);
}

static void check_value(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row,
                        const tsmith_sql_value *value) {
    assert_int_equal(arrow_is_valid(array, row), value->type != TSMITH_SQL_NULL);
    if (value->type == TSMITH_SQL_NULL)
        return;
    if (*schema->format == 'l')
        assert_true(value->type == TSMITH_SQL_INTEGER &&
                    ((const int64_t *)array->buffers[1])[row] == value->integer);
    else if (*schema->format == 'g')
        assert_true(((const double *)array->buffers[1])[row] ==
                    (value->type == TSMITH_SQL_REAL ? value->real : (double)value->integer));
    else if (arrow_is_utf8((const unsigned char *)value->text.bytes, value->text.length) ||
             *schema->format == 'Z') {
        const tsmith_string text = utf8_text_at(array, row);
        assert_int_equal(text.length, value->text.length);
        assert_memory_equal(text.bytes, value->text.bytes, text.length);
    }
}

// The answer as arrays is the answer as rows; `formats` are those of the columns.
static void check_sql(const char *sql, const char *const *formats, int64_t rows, size_t arrays) {
    struct asking asking = begin_asking(), reference = begin_asking();
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    int64_t seen = 0;
    size_t count = 0;
    prepare(&asking, sql);
    prepare(&reference, sql);
    assert_int_equal(tsmith_arrow_query(asking.query, &stream, NULL), TSMITH_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    arrow_check_schema(&schema);
    for (int64_t i = 0; i < schema.n_children; i++) {
        assert_string_equal(schema.children[i]->format, formats[i]);
        assert_string_equal(schema.children[i]->name, tsmith_query_column_name(reference.query, (size_t)i));
    }
    while (stream.get_next(&stream, &array) == 0 && array.release) {
        arrow_check_array(&schema, &array);
        for (int64_t row = 0; row < array.length; row++, seen++) {
            assert_int_equal(tsmith_query_next(reference.query, NULL), TSMITH_OK);
            for (int64_t i = 0; i < schema.n_children; i++) {
                const tsmith_sql_value value = tsmith_query_value(reference.query, (size_t)i);
                check_value(schema.children[i], array.children[i], row, &value);
            }
        }
        arrow_drop_array(&array);
        count++;
    }
    assert_null(stream.get_last_error(&stream));
    assert_int_equal(tsmith_query_next(reference.query, NULL), TSMITH_END);
    assert_int_equal(seen, rows);
    assert_int_equal(count, arrays);
    arrow_drop_schema(&schema);
    arrow_drop_stream(&stream);
    end_asking(&asking);
    end_asking(&reference);
}

#define FORMATS(...) ((const char *const[]){__VA_ARGS__})

static void answers_become_arrays(void **state) {
    (void)state;
    check_sql("SELECT start, duration, name FROM kernel ORDER BY start", FORMATS("l", "l", "U"), 1200, 1);
    check_sql("SELECT 1 AS a, 2.5 AS b, 'x' AS c, x'00ff' AS d, NULL AS e", FORMATS("l", "g", "U", "Z", "U"),
              1, 1);
    check_sql("SELECT count(*) AS n, avg(duration) AS mean FROM kernel", FORMATS("l", "g"), 1, 1);
    check_sql("SELECT duration, name FROM kernel WHERE start = 123456789", FORMATS("l", "U"), 0, 0);
    check_sql("SELECT line, file FROM kernel LIMIT 5", FORMATS("l", "U"), 5, 1); // known of none
    // Integers before reals, nulls before both.
    check_sql("WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 20) "
              "SELECT CASE WHEN i < 4 THEN NULL WHEN i < 9 THEN i ELSE i / 2.0 END AS v FROM c",
              FORMATS("g"), 20, 1);
    check_sql("WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 150000) "
              "SELECT i, CASE WHEN i % 3 THEN 'text ' || i END AS t, CASE WHEN i > 70000 THEN i ELSE 0.5 END "
              "AS r FROM c",
              FORMATS("l", "U", "g"), 150000, 3);
}

static void check_mixed(const char *sql, size_t arrays, const char *message) {
    struct asking asking = begin_asking();
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    size_t count = 0;
    prepare(&asking, sql);
    assert_int_equal(tsmith_arrow_query(asking.query, &stream, NULL), TSMITH_OK);
    if (stream.get_schema(&stream, &schema) == 0)
        arrow_drop_schema(&schema);
    while (stream.get_next(&stream, &array) == 0 && array.release) {
        arrow_drop_array(&array);
        count++;
    }
    assert_int_equal(count, arrays);
    assert_non_null(stream.get_last_error(&stream));
    assert_non_null(strstr(stream.get_last_error(&stream), message));
    arrow_drop_stream(&stream);
    end_asking(&asking);
}

static void a_column_has_one_type(void **state) {
    struct asking asking = begin_asking();
    struct ArrowArrayStream stream;
    (void)state;
    check_mixed("SELECT 1 AS v UNION ALL SELECT 'one'", 0, "v has a value of type TEXT in row 2");
    check_mixed("SELECT 9007199254740993 AS v UNION ALL SELECT 0.5", 0,
                "REAL in row 2"); // would not be exact
    check_mixed("WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 70000) "
                "SELECT CASE WHEN i = 69999 THEN 0.5 ELSE i END AS late FROM c",
                1, "late has a value of type REAL in row 69999");
    assert_int_equal(tsmith_arrow_query(asking.query, &stream, NULL), TSMITH_ERROR_STATE);
    assert_null(stream.release);
    end_asking(&asking);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_becomes_an_array),
        cmocka_unit_test(answers_become_arrays),
        cmocka_unit_test(a_column_has_one_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
