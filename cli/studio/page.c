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
