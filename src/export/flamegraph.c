// SPDX-License-Identifier: Apache-2.0
// A flame graph as one SVG file that needs nothing else: without its script it is a picture with tooltips, with it a click
// zooms and names can be searched for. The costliest branch comes first from the left, what calls is beneath what it
// calls. Names are from the trace, that is, from anywhere: put_name is the only way they reach the file.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "event/fold.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/paths.h"

enum {
    WIDTH = 1200,
    MARGIN = 10,
    INNER = WIDTH - 2 * MARGIN,
    ROW = 17,
    HEAD = 56,        // above the frames
    LEVELS_MAX = 256, // deeper frames are not drawn, which the picture states
    TEXT_LEAST = 24   // a narrower frame has no text
};
static const double LEAST = 0.2, CHARACTER = 7.0; // pixels: frames that are drawn, and of a letter

struct flamegraph {
    struct paths paths;
    struct output output;
    int64_t *totals;    // by node
    uint32_t *children; // first child by node, then the next sibling: by total
    uint32_t *next;
    bool deeper; // functions beyond LEVELS_MAX are not drawn
};

// ---- text

static void put_text(struct output *output, const char *format, ...) TSMITH_PRINTF(2, 3);
static void put_text(struct output *output, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    output_text(output, text);
}

static void put_character(struct output *output, const char *at, unsigned length) {
    static const char UNKNOWN[] = "\xef\xbf\xbd";
    bool not_xml = length == 3 && memcmp(at, "\xef\xbf", 2) == 0 && (unsigned char)at[2] >= 0xbe;
    if (length == 0 || not_xml)
        output_text(output, UNKNOWN);
    else if (length > 1)
        output_bytes(output, at, length);
    else if (*at == '&')
        output_text(output, "&amp;");
    else if (*at == '<')
        output_text(output, "&lt;");
    else if (*at == '>')
        output_text(output, "&gt;");
    else
        output_char(output, (unsigned char)*at < ' ' || *at == 0x7f ? ' ' : *at);
}

// At most `limit` characters, the last two of which are dots where it is longer.
static void put_name(struct output *output, tsmith_string name, size_t limit) {
    size_t characters = 0;
    for (size_t at = 0, length; at < name.length; at += length ? length : 1, characters++)
        length = json_utf8_length(name.bytes + at, name.length - at);
    size_t shown = characters <= limit ? characters : limit < 2 ? 0 : limit - 2;
    for (size_t at = 0, i = 0; i < shown; i++) {
        unsigned length = json_utf8_length(name.bytes + at, name.length - at);
        put_character(output, name.bytes + at, length);
        at += length ? length : 1;
    }
    if (shown < characters && limit >= 2)
        output_text(output, "..");
}

static void put_duration(struct output *output, int64_t ns) {
    if (ns < 10000)
        put_text(output, "%" PRIi64 " ns", ns);
    else if (ns < 10000000)
        put_text(output, "%.1f us", (double)ns / 1e3);
    else if (ns < 10000000000)
        put_text(output, "%.1f ms", (double)ns / 1e6);
    else
        put_text(output, "%.2f s", (double)ns / 1e9);
}

// ---- the tree

struct order {
    int64_t total;
    uint32_t parent, node;
};

static int by_parent(const void *left, const void *right) {
    const struct order *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static bool add_up(struct flamegraph *graph) {
    size_t count = graph->paths.node_count ? graph->paths.node_count : 1;
    const struct paths_node *nodes = graph->paths.nodes;
    struct order *order = malloc(count * sizeof *order);
    graph->totals = calloc(count, sizeof *graph->totals);
    graph->children = calloc(count, sizeof *graph->children);
    graph->next = calloc(count, sizeof *graph->next);
    bool ok = order && graph->totals && graph->children && graph->next;
    for (size_t i = count; ok && i-- > 1;) { // a child is behind its parent
        int64_t self = nodes[i].self > 0 ? nodes[i].self : 0, *above = &graph->totals[nodes[i].parent];
        if (__builtin_add_overflow(graph->totals[i], self, &graph->totals[i]))
            graph->totals[i] = INT64_MAX;
        if (__builtin_add_overflow(*above, graph->totals[i], above))
            *above = INT64_MAX;
        order[i] = (struct order){graph->totals[i], nodes[i].parent, (uint32_t)i};
    }
    if (ok && count > 2)
        qsort(order + 1, count - 1, sizeof *order, by_parent);
    for (size_t i = count; ok && i-- > 1;) {
        graph->next[order[i].node] = graph->children[order[i].parent];
        graph->children[order[i].parent] = order[i].node;
    }
    free(order);
    return ok;
}

static double width_of(const struct flamegraph *graph, uint32_t node) {
    return graph->totals[0] > 0 ? (double)graph->totals[node] / (double)graph->totals[0] * INNER : 0;
}

// How many levels there are to draw.
static unsigned levels_of(struct flamegraph *graph) {
    unsigned depth = 0, deepest = 0;
    for (uint32_t at = graph->children ? graph->children[0] : 0; at;) {
        deepest = depth + 1 > deepest ? depth + 1 : deepest;
        graph->deeper |= graph->children[at] && depth + 1 == LEVELS_MAX;
        if (graph->children[at] && width_of(graph, at) >= LEAST && depth + 1 < LEVELS_MAX) {
            at = graph->children[at];
            depth++;
            continue;
        }
        while (at && !graph->next[at]) {
            at = graph->paths.nodes[at].parent;
            depth -= at != 0;
        }
        at = at ? graph->next[at] : 0;
    }
    return deepest;
}

// ---- the picture

static void put_color(struct output *output, enum paths_name kind, tsmith_string name) {
    unsigned hash = (unsigned)hash_bytes(name.bytes, name.length), a = hash % 50, b = hash / 50 % 40;
    switch (kind) {
    case PATHS_COMMAND: // work of a device: green
        put_text(output, "rgb(%u,%u,%u)", 90 + b, 190 + a, 90 + b);
        return;
    case PATHS_FRAME: // no name: gray
    case PATHS_TRUNCATED:
        put_text(output, "rgb(%u,%u,%u)", 190 + b / 2, 190 + b / 2, 190 + b / 2);
        return;
    case PATHS_PROCESS:
    case PATHS_TRACK:
        output_text(output, "rgb(160,175,200)");
        return;
    default:
        put_text(output, "rgb(%u,%u,%u)", 205 + a, 110 + 3 * b, 40 + a);
    }
}

static void put_frame(struct flamegraph *graph, uint32_t node, double x, double y, unsigned depth) {
    char text[PATHS_NAME_SIZE];
    struct output *output = &graph->output;
    const struct paths_node *entry = &graph->paths.nodes[node];
    double width = width_of(graph, node);
    tsmith_string name = paths_name(&graph->paths, entry->name, text);
    put_text(output, "<g class=\"f\" data-x=\"%.2f\" data-w=\"%.3f\" data-d=\"%u\"><title>", x, width, depth);
    put_name(output, name, SIZE_MAX);
    output_char(output, '\n');
    put_duration(output, graph->totals[node]);
    put_text(output, ", %.2f%%, itself ", width / INNER * 100);
    put_duration(output, entry->self > 0 ? entry->self : 0);
    if (depth + 1 == LEVELS_MAX && graph->children[node])
        output_text(output, ", what it called is not drawn");
    put_text(output, "</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
             MARGIN + x, y, width > 0.3 ? width - 0.1 : width, ROW - 1);
    put_color(output, paths_name_kind(entry->name), name);
    put_text(output, "\"/><text x=\"%.2f\" y=\"%.0f\">", MARGIN + x + 3, y + ROW - 5);
    if (width >= TEXT_LEAST)
        put_name(output, name, (size_t)((width - 4) / CHARACTER));
    output_text(output, "</text></g>\n");
}

static void put_frames(struct flamegraph *graph, double bottom) {
    double at_x[LEVELS_MAX + 1] = {0}; // where the next frame of a level begins
    unsigned depth = 0;
    for (uint32_t at = graph->children[0]; at;) {
        double x = at_x[depth], width = width_of(graph, at);
        at_x[depth] += width;
        if (width >= LEAST) {
            put_frame(graph, at, x, bottom - (depth + 1) * ROW, depth);
            if (graph->children[at] && depth + 1 < LEVELS_MAX) {
                at_x[++depth] = x;
                at = graph->children[at];
                continue;
            }
        }
        while (at && !graph->next[at]) {
            at = graph->paths.nodes[at].parent;
            depth -= at != 0;
        }
        at = at ? graph->next[at] : 0;
    }
}

static const char STYLE[] =
    "<style>text{font:12px monospace;fill:#111}.f text{pointer-events:none}.f{cursor:pointer}\n"
    ".f:hover rect{stroke:#000;stroke-width:1}.dim{opacity:.5}.hit rect{fill:#d6f}#t{font-size:17px}\n"
    ".b{fill:#36c;cursor:pointer}.off{display:none}</style>\n";

// Places are those of the whole picture; zooming maps a part of them to its width.
static const char SCRIPT[] =
    "<script><![CDATA[\n"
    "addEventListener('load',function(){'use strict';\n"
    "var INNER=1180,MARGIN=10,LETTER=7,NEAR=0.02,\n"
    " frames=[].slice.call(document.querySelectorAll('g.f')).map(function(g){var "
    "t=g.querySelector('title').textContent;\n"
    "  return {g:g,x:+g.getAttribute('data-x'),w:+g.getAttribute('data-w'),d:+g.getAttribute('data-d'),\n"
    "   "
    "rect:g.querySelector('rect'),text:g.querySelector('text'),title:t,name:t.slice(0,t.lastIndexOf('\\n'))};"
    "}),\n"
    " info=document.getElementById('info'),reset=document.getElementById('reset'),search=document."
    "getElementById('search');\n"
    "function draw(f,x,w){f.rect.setAttribute('x',MARGIN+x);f.rect.setAttribute('width',Math.max(w-0.1,0));\n"
    " f.text.setAttribute('x',MARGIN+x+3);var n=Math.floor((w-4)/LETTER),c=Array.from(f.name);\n"
    " f.text.textContent=w<24?'':c.length<=n?f.name:c.slice(0,n-2).join('')+'..';}\n"
    "function zoom(to){var x=to?to.x:0,w=to?to.w:INNER,d=to?to.d:0,by=INNER/w;\n"
    " frames.forEach(function(f){var above=to&&f.d<d&&f.x<=x+NEAR&&f.x+f.w>=x+w-NEAR,\n"
    "   within=f.d>=d&&f.x>=x-NEAR&&f.x+f.w<=x+w+NEAR;\n"
    "  f.g.classList.toggle('off',!above&&!within);f.g.classList.toggle('dim',!!above);\n"
    "  if(above)draw(f,0,INNER);else if(within)draw(f,(f.x-x)*by,f.w*by);});\n"
    " reset.classList.toggle('off',!to);}\n"
    "function find(what){var hit,sum=0,end={};\n"
    " try{hit=what?new RegExp(what):null;}catch(e){info.textContent='not a regular expression: "
    "'+what;return;}\n"
    " frames.forEach(function(f){var is=!!hit&&hit.test(f.name);f.g.classList.toggle('hit',is);\n"
    "  f.is=is;});\n"
    " frames.filter(function(f){return f.is;}).sort(function(a,b){return "
    "a.d-b.d||a.x-b.x;}).forEach(function(f){\n"
    "  for(var d=0;d<f.d;d++)if((end[d]||[]).some(function(o){return "
    "f.x>=o.x-NEAR&&f.x+f.w<=o.x+o.w+NEAR;}))return;\n"
    "  (end[f.d]=end[f.d]||[]).push(f);sum+=f.w;});\n"
    " info.textContent=hit?'matched: '+(100*sum/INNER).toFixed(2)+'%':'';}\n"
    "frames.forEach(function(f){f.g.addEventListener('click',function(){zoom(f.d||f.w<INNER-NEAR?f:null);});"
    "\n"
    " f.g.addEventListener('mouseover',function(){info.textContent=f.title.replace('\\n','  ');});});\n"
    "reset.addEventListener('click',function(){zoom(null);});\n"
    "search.addEventListener('click',function(){var w=prompt('Regular expression for "
    "names');if(w!==null)find(w);});\n"
    "addEventListener('keydown',function(e){if(e.key==='Escape'){zoom(null);find('');}\n"
    " if(e.key==='/'){e.preventDefault();search.dispatchEvent(new Event('click'));}});\n"
    "});\n"
    "]]></script>\n";

static void put_picture(struct flamegraph *graph) {
    struct output *output = &graph->output;
    double height = HEAD + levels_of(graph) * ROW + 2 * ROW + MARGIN;
    put_text(output,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\">\n",
             WIDTH, height, WIDTH, height);
    output_text(output, STYLE);
    output_text(output, SCRIPT);
    put_text(output, "<rect width=\"%d\" height=\"%.0f\" fill=\"#fdfcf8\"/>\n", WIDTH, height);
    put_text(output, "<text id=\"t\" x=\"%d\" y=\"24\">%s</text>\n", MARGIN,
             graph->paths.of_samples ? "CPU time by call path"
             : graph->paths.by_stack ? "Device time by call path"
                                     : "Time by slice");
    put_text(output, "<text x=\"%d\" y=\"44\">", MARGIN);
    put_duration(output, graph->totals[0]);
    output_text(output, graph->paths.of_samples ? " in samples of threads"
                        : graph->paths.by_stack ? " of commands; green is what ran on a device"
                                                : " in slices of threads and queues");
    if (graph->paths.folded)
        output_text(output, "; recursion is folded");
    if (graph->paths.truncated)
        output_text(output, "; " FOLD_TRUNCATED ": callers are not known");
    if (graph->paths.guessed)
        output_text(output, "; " FOLD_GUESSED_WORD ": callers may be missing above it");
    if (graph->deeper)
        put_text(output, "; only the outermost %d levels are drawn", LEVELS_MAX);
    output_text(output, "</text>\n");
    put_text(output, "<text id=\"reset\" class=\"b off\" x=\"%d\" y=\"24\">[all of it]</text>\n",
             WIDTH - 230);
    put_text(output, "<text id=\"search\" class=\"b\" x=\"%d\" y=\"24\">[search: /]</text>\n", WIDTH - 110);
    put_text(output, "<text id=\"info\" x=\"%d\" y=\"%.0f\"></text>\n", MARGIN, height - MARGIN);
    put_frames(graph, height - 2 * ROW - MARGIN + ROW / 2);
    output_text(output, "</svg>\n");
}

// ---- the sink

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    return paths_add(&((struct flamegraph *)self)->paths, dictionary, batch, error);
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct flamegraph *graph = self;
    tsmith_status status = paths_end(&graph->paths, dictionary, error);
    if (status == TSMITH_OK && !add_up(graph))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    if (status != TSMITH_OK)
        return status;
    put_picture(graph);
    return output_finish(&graph->output, error);
}

static void destroy(void *self) {
    struct flamegraph *graph = self;
    if (!graph)
        return;
    paths_finish(&graph->paths);
    free(graph->totals);
    free(graph->children);
    free(graph->next);
    output_close(&graph->output);
    free(graph);
}

tsmith_status flamegraph_open(const struct export_place *place, const tsmith_export_options *options,
                              tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct flamegraph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    graph->paths.hide_interpreter = options && options->hide_interpreter;
    graph->paths.of_samples = options && options->cpu_samples;
    return output_sink(&graph->output, &ops, graph, place, options, out, error);
}
