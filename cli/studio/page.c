// SPDX-License-Identifier: Apache-2.0
// The files of the page, in the program itself: they are made of studio/ when it is built.
#include <string.h>

#include "cli/studio/server.h"

#ifdef STUDIO_HTML
#define EMBED(name, path)                                                                                    \
    extern const char name##_begin[], name##_end[];                                                          \
    __asm__(".section .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name "_end:\n.byte "               \
            "0\n.previous\n")
#else // not by the build, which defines their paths: the file can be compiled all the same
#define EMBED(name, path) static const char name##_begin[1], name##_end[1]
#endif

EMBED(page_html, STUDIO_HTML);
EMBED(page_css, STUDIO_CSS);
EMBED(page_script, STUDIO_SCRIPT);
EMBED(page_icon, STUDIO_ICON);
#ifdef STUDIO_WASM
EMBED(page_static, STUDIO_STATIC);
EMBED(page_reader, STUDIO_READER);
EMBED(page_wasm, STUDIO_WASM);
#endif

static const struct {
    const char *path, *type, *begin, *end;
} PARTS[] = {{"/", "text/html; charset=utf-8", page_html_begin, page_html_end},
             {"/studio.css", "text/css; charset=utf-8", page_css_begin, page_css_end},
             {"/studio.js", "text/javascript; charset=utf-8", page_script_begin, page_script_end},
             {"/icon.svg", "image/svg+xml", page_icon_begin, page_icon_end}};

bool page_find(const char *path, struct page_part *out) {
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (strcmp(PARTS[i].path, path) == 0) {
            *out = (struct page_part){PARTS[i].type, PARTS[i].begin, (size_t)(PARTS[i].end - PARTS[i].begin)};
            return true;
        }
    return false;
}

bool page_static_at(size_t index, const char **name, struct page_part *out) {
#ifdef STUDIO_WASM
    static const struct {
        const char *name, *begin, *end;
    } FILES[] = {
        {"index.html", page_static_begin, page_static_end}, {"studio.css", page_css_begin, page_css_end},
        {"studio.js", page_script_begin, page_script_end},  {"icon.svg", page_icon_begin, page_icon_end},
        {"reader.js", page_reader_begin, page_reader_end},  {"reader.wasm", page_wasm_begin, page_wasm_end}};
    if (index >= sizeof FILES / sizeof *FILES)
        return false;
    *name = FILES[index].name;
    *out = (struct page_part){NULL, FILES[index].begin, (size_t)(FILES[index].end - FILES[index].begin)};
    return true;
#else
    (void)index;
    (void)name;
    (void)out;
    return false;
#endif
}
