// SPDX-License-Identifier: Apache-2.0
// A window of a graph for Graphviz. Names are cut and escaped: a trace's strings are anybody's.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/destination.h"
#include "base/plural.h"
#include "base/status.h"
#include "state/graph.h"

enum { DEFAULT_NODES = 2000, NAME_BYTES = 48 };

struct drawing {
    const tsmith_graph *graph;
    const tsmith_dictionary *dictionary;
    tsmith_interval window;
    uint32_t limit, drawn;
    uint64_t left_out;
    bool *shown; // by node
    FILE *out;
};

static void write_text(FILE *out, tsmith_string text) {
    size_t length = text.length < NAME_BYTES ? text.length : NAME_BYTES;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\')
            fputc('\\', out);
        fputc(c < 0x20 || c > 0x7e ? '?' : c, out);
    }
    if (length < text.length)
        fputs("...", out);
}

static void write_label(const struct drawing *drawing, uint32_t name, uint8_t kind, int64_t from, int64_t to,
                        const char *without_end) {
    const char *otherwise = tsmith_kind_name((tsmith_kind)kind);
    fputs("label=\"", drawing->out);
    tsmith_string text = tsmith_dictionary_string(drawing->dictionary, name);
    write_text(drawing->out, text.length ? text : (tsmith_string){otherwise, strlen(otherwise)});
    fprintf(drawing->out, "\\n+%.3f us", (double)(from - drawing->window.from) / 1e3);
    if (without_end)
        fputs(without_end, drawing->out);
    else
        fprintf(drawing->out, ", %.3f us", (double)(to - from) / 1e3);
    fputc('"', drawing->out);
}

// Takes a node into the drawing if it touches the window and there is room.
static bool show_node(struct drawing *drawing, uint32_t node) {
    if (graph_time(drawing->graph, node, false) > drawing->window.to ||
        graph_time(drawing->graph, node, true) < drawing->window.from)
        return false;
    if (drawing->drawn >= drawing->limit) {
        drawing->left_out++;
        return false;
    }
    drawing->drawn++;
    return drawing->shown[node] = true;
}

static void open_cluster(struct drawing *drawing, const char *what, size_t index, uint32_t track) {
    char room[TSMITH_LABEL_SIZE];
    fprintf(drawing->out, "  subgraph cluster_%s%zu {\n    label=\"", what, index);
    write_text(drawing->out, tsmith_track_name(drawing->dictionary, track, room));
    fputs("\";\n", drawing->out);
}

static void write_rows(struct drawing *drawing) {
    const tsmith_timeline *timeline = drawing->graph->timeline;
    for (size_t r = 0; r < timeline->row_count; r++) {
        const tsmith_row *row = &timeline->rows[r];
        open_cluster(drawing, "queue", r, row->track);
        for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
            const tsmith_command *command = &timeline->commands[i];
            if (!show_node(drawing, i))
                continue;
            fprintf(drawing->out, "    n%" PRIu32 " [shape=box style=filled fillcolor=%s ", i,
                    command->work == TSMITH_WORK_COMPUTE         ? "lightblue"
                    : command->work == TSMITH_WORK_COPY          ? "lightyellow"
                    : command->work == TSMITH_WORK_COMMUNICATION ? "lightpink"
                                                                 : "white");
            write_label(drawing, command->name, command->kind, command->start, command->end,
                        !command->end_unknown                                       ? NULL
                        : command->work == TSMITH_WORK_CONTROL && !command->untimed ? ""
                                                                                    : ", duration unknown");
            fputs("];\n", drawing->out);
        }
        fputs("  }\n", drawing->out);
    }
}

static void write_threads(struct drawing *drawing) {
    const tsmith_timeline *timeline = drawing->graph->timeline;
    for (size_t t = 0; t < timeline->thread_count; t++) {
        const tsmith_thread *thread = &timeline->threads[t];
        open_cluster(drawing, "thread", t, thread->track);
        for (uint32_t i = thread->first_call; i < thread->first_call + thread->call_count; i++) {
            uint32_t node = graph_call_node(drawing->graph, i);
            if (!show_node(drawing, node))
                continue;
            fprintf(drawing->out, "    n%" PRIu32 " [shape=ellipse ", node);
            const tsmith_call *call = &timeline->calls[i];
            write_label(drawing, call->name, call->kind, call->start, call->end,
                        call->end_unknown ? ", duration unknown" : NULL);
            fputs("];\n", drawing->out);
        }
        fputs("  }\n", drawing->out);
    }
}

static void write_edges(const struct drawing *drawing) {
    static const char *const STYLES[TSMITH_EDGE_LIMIT] = {
        [TSMITH_EDGE_PROGRAM_ORDER] = "color=gray",
        [TSMITH_EDGE_CALLED] = "color=gray style=dotted",
        [TSMITH_EDGE_RETURNED] = "color=gray style=dotted",
        [TSMITH_EDGE_LAUNCH] = "color=blue",
        [TSMITH_EDGE_STREAM_ORDER] = "color=black",
        [TSMITH_EDGE_GRAPH_NODE] = "color=black style=bold",
        [TSMITH_EDGE_BARRIER] = "color=orange",
        [TSMITH_EDGE_EVENT_WAIT] = "color=red",
        [TSMITH_EDGE_DEFAULT_STREAM] = "color=orange style=dashed",
        [TSMITH_EDGE_RESOURCE] = "color=brown style=dashed",
        [TSMITH_EDGE_COMPILE] = "color=purple",
        [TSMITH_EDGE_COLLECTIVE] = "color=magenta",
        [TSMITH_EDGE_SYNC_RETURN] = "color=green",
        [TSMITH_EDGE_SYNC_INFERRED] = "color=green style=dashed",
        [TSMITH_EDGE_QUEUE_INFERRED] = "color=red style=dashed",
        [TSMITH_EDGE_THREAD_INFERRED] = "color=gray style=dashed",
    };
    const tsmith_graph *graph = drawing->graph;
    for (uint32_t node = 0; node < graph->node_count; node++) {
        for (uint32_t i = graph->first[node]; drawing->shown[node] && i < graph->first[node + 1]; i++) {
            const tsmith_edge *edge = &graph->edges[i];
            if (drawing->shown[edge->from])
                fprintf(drawing->out, "  n%" PRIu32 " -> n%" PRIu32 " [%s tooltip=\"%s\"];\n", edge->from,
                        node, STYLES[edge->kind], tsmith_edge_kind_name((tsmith_edge_kind)edge->kind));
        }
    }
}

tsmith_status tsmith_graph_write_dot(const tsmith_graph *graph, const tsmith_dictionary *dictionary,
                                     tsmith_interval window, uint32_t node_limit, FILE *out,
                                     tsmith_error *error) {
    struct drawing drawing = {.graph = graph,
                              .dictionary = dictionary,
                              .window = window,
                              .limit = node_limit ? node_limit : DEFAULT_NODES,
                              .shown = calloc((size_t)graph->node_count + 1, sizeof(bool)),
                              .out = out};
    if (!drawing.shown)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while drawing the graph");
    fprintf(out, "// TraceSmith: %" PRId64 " ns from %" PRId64 " ns\ndigraph trace {\n  rankdir=LR;\n",
            window.to - window.from, window.from);
    write_rows(&drawing);
    write_threads(&drawing);
    write_edges(&drawing);
    if (drawing.left_out)
        fprintf(out, "  // %" PRIu64 " more %s in the window and left out\n", drawing.left_out,
                plural(drawing.left_out, "node is", "nodes are"));
    fputs("}\n", out);
    free(drawing.shown);
    if (ferror(out) || fflush(out))
        return status_set_errno(error, "The graph could not be written");
    return TSMITH_OK;
}

struct dot {
    const tsmith_graph *graph;
    const tsmith_dictionary *dictionary;
    tsmith_interval window;
    uint32_t node_limit;
};

static tsmith_status print_dot(const void *what, FILE *out, tsmith_error *error) {
    const struct dot *dot = what;
    return tsmith_graph_write_dot(dot->graph, dot->dictionary, dot->window, dot->node_limit, out, error);
}

tsmith_status tsmith_graph_write_dot_to(const tsmith_graph *graph, const tsmith_dictionary *dictionary,
                                        tsmith_interval window, uint32_t node_limit,
                                        const tsmith_output *output, tsmith_error *error) {
    return destination_print(output, print_dot, &(struct dot){graph, dictionary, window, node_limit}, error);
}
