// SPDX-License-Identifier: Apache-2.0
// Files of other tools that are not read: what they are, and what to do with them. The type of a file follows from
// its content. Only reports of Nsight, whose format is not documented, are known by their names; a file that can be
// read is read, under any name.
#include "import/others.h"

#include <string.h>

enum { LOOK = 64 << 10, HEAD = 4 << 10 };

struct view {
    const char *bytes;
    size_t length;
};

static bool begins_with(struct view view, const char *bytes, size_t length) {
    return view.length >= length && memcmp(view.bytes, bytes, length) == 0;
}

static bool contains_text(struct view view, size_t within, const char *text) {
    return memmem(view.bytes, view.length < within ? view.length : within, text, strlen(text)) != NULL;
}

#define OTF2_TEXT "an OTF2 archive, which TraceSmith writes and does not read: otf2-print shows what is in it"

static const char *find_container(struct view view) {
    static const struct {
        const char *bytes;
        size_t length;
        const char *text;
    } containers[] = {{"\xfd"
                       "7zXZ",
                       5, "an xz file: decompress it first, with xz -d"},
                      {"BZh", 3, "a bzip2 file: decompress it first, with bzip2 -d"},
                      {"\x04\x22\x4d\x18", 4, "an lz4 file: decompress it first, with lz4 -d"},
                      {"PK\x03\x04", 4, "a zip archive: unpack it, and import the traces in it"},
                      // The anchor, of either order of bytes.
                      {"\x03"
                       "BOTF2",
                       6, OTF2_TEXT},
                      {"\x03#OTF2", 6, OTF2_TEXT}};
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (begins_with(view, containers[i].bytes, containers[i].length))
            return containers[i].text;
    return NULL;
}

// Protocols 2 to 5 begin with their number; what is pickled follows, with PROTO's successors: a frame, a dictionary, a list.
static const char *find_pickle(struct view view) {
    if (view.length < 3 || view.bytes[0] != '\x80' || view.bytes[1] < 2 || view.bytes[1] > 5 ||
        !strchr("\x95}](c", view.bytes[2]))
        return NULL;
    return "a Python pickle, which TraceSmith does not read unless it is a memory snapshot of PyTorch";
}

static const char *find_text(struct view view) {
    if (contains_text(view, HEAD, "NVPROF is profiling process"))
        return "text of nvprof, which TraceSmith does not read: profile again with tracesmith profile or "
               "with nsys";
    return NULL;
}

static const char *find_name(const char *name) {
    static const struct {
        const char *ending, *text;
    } names[] = {
        {".nsys-rep", "a report of Nsight Systems: make a database of it with nsys export --type sqlite "
                      "FILE, and import that (tracesmith import does both if nsys is installed)"},
        {".qdrep", "a report of Nsight Systems: make a database of it with nsys export --type sqlite FILE, "
                   "and import that (tracesmith import does both if nsys is installed)"},
        {".ncu-rep", "a report of Nsight Compute: ncu --import FILE --csv --page raw makes a table of it "
                     "that TraceSmith reads"}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t ending = strlen(names[i].ending);
        if (length > ending && strcmp(name + length - ending, names[i].ending) == 0)
            return names[i].text;
    }
    return NULL;
}

const char *others_find(const struct input *input, const char *name) {
    struct view view = {input->window + input->begin, input->end - input->begin};
    const char *found = find_container(view);
    if (!found)
        found = find_pickle(view);
    if (!found)
        found = find_text(view);
    if (!found && view.length && !strchr("{[ \t\r\n\xef", *view.bytes))
        found = find_name(name);
    return found;
}
