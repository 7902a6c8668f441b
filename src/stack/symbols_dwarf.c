// SPDX-License-Identifier: Apache-2.0
// Invariants: node 0 is "no function"; a node's parent is an earlier node. A unit is loaded at most once, also when that
// fails. `budget` only falls: each entry, range and line that libdw is asked for costs one, so that a file in which a
// thousand entries share one list of a thousand ranges is given up and not waited for.
#include "stack/symbols_dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "stack/symbols_aranges.h"
#include "stack/symbols_image.h"

enum { DEPTH_MAX = 256, BUDGET_FIRST = 1 << 16, BUDGET_PER_BYTE = 16 };

// A function at a place: out of line (call_line 0 and no parent), or inlined into its parent at the call's line.
struct node {
    const char *name;
    const char *call_file;
    uint32_t call_line;
    uint32_t parent;
};

struct line {
    uint64_t address;
    const char *file;
    uint32_t number; // 0: code without a line, or the end of a sequence
};

struct unit {
    Dwarf_Off offset;
    bool loaded;
    struct line *lines;
    size_t line_count;
    struct symbols_segments functions; // value: node
};

// A file as libdw has it.
struct opened {
    struct symbols_image image;
    Elf *elf;
    Dwarf *dwarf;
};

struct dwarf_lines {
    struct opened own, shared;
    uint64_t code_start, code_end;
    struct unit *units;
    size_t unit_count, unit_capacity;
    struct symbols_segments by_address; // value: unit + 1
    struct node *nodes;
    size_t node_count, node_capacity;
    struct arena paths;
    uint64_t budget;
    bool walked; // all units were looked into for their ranges; false: those of .debug_aranges are known
    bool damaged;
};

static bool spend(struct dwarf_lines *lines) {
    if (lines->budget == 0) {
        lines->damaged = true;
        return false;
    }
    lines->budget--;
    return true;
}

// ---- ranges

// Adds where the entry's code is. A linker that drops code leaves its ranges, at 0 or elsewhere outside.
static bool add_ranges(struct dwarf_lines *lines, Dwarf_Die *die, uint32_t value, uint32_t depth,
                       struct symbols_ranges *ranges) {
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && spend(lines))
        if (start >= lines->code_start && end <= lines->code_end && start &&
            !symbols_ranges_add(ranges, (struct symbols_range){start, end, value, depth}))
            return false;
    if (at < 0)
        lines->damaged = true;
    return true;
}

static bool add_unit(struct dwarf_lines *lines, Dwarf_Off offset) {
    void *units = lines->units;
    if (lines->unit_count >= UINT32_MAX - 1 ||
        !array_reserve(&units, &lines->unit_capacity, lines->unit_count + 1, sizeof *lines->units))
        return false;
    lines->units = units;
    lines->units[lines->unit_count++] = (struct unit){.offset = offset};
    return true;
}

// In place of what there was.
static bool build_units(struct dwarf_lines *lines, struct symbols_ranges *ranges) {
    symbols_segments_finish(&lines->by_address);
    return symbols_segments_build(&lines->by_address, ranges);
}

static bool find_units(struct dwarf_lines *lines) {
    struct symbols_ranges ranges = {0};
    Dwarf_CU *unit = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die;
    int got = 0;
    bool ok = true;
    // Without the last argument libdw leaves files with split DWARF alone.
    while (ok && spend(lines) &&
           (got = dwarf_get_units(lines->own.dwarf, unit, &unit, &version, &type, &die, NULL)) == 0)
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            ok = add_unit(lines, dwarf_dieoffset(&die)) &&
                 add_ranges(lines, &die, (uint32_t)lines->unit_count, 0, &ranges);
    if (got < 0)
        lines->damaged = true;
    ok = ok && build_units(lines, &ranges);
    free(ranges.items);
    lines->walked = true;
    return ok;
}

// ---- what the file says of the ranges of its units

struct listed {
    struct dwarf_lines *lines;
    struct symbols_ranges ranges;
    uint64_t unit; // the last one
};

static bool take_listed(void *context, uint64_t unit, uint64_t start, uint64_t end) {
    struct listed *listed = context;
    struct dwarf_lines *lines = listed->lines;
    Dwarf_Off next;
    size_t header;
    if (!spend(lines))
        return false;
    if (start < lines->code_start || end > lines->code_end || !start)
        return true;
    if (!lines->unit_count || unit != listed->unit) {
        if (dwarf_next_unit(lines->own.dwarf, unit, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) !=
                0 ||
            !add_unit(lines, unit + header))
            return false;
        listed->unit = unit;
    }
    return symbols_ranges_add(&listed->ranges,
                              (struct symbols_range){start, end, (uint32_t)lines->unit_count, 0});
}

// False: the list is not there, damaged or of no use. What it leaves out is found by looking into all units.
static bool list_units(struct dwarf_lines *lines, const struct elf_file *file) {
    struct listed listed = {.lines = lines};
    size_t size;
    uint8_t *bytes = symbols_image_section(file, ".debug_aranges", &size);
    bool ok = bytes && symbols_aranges_read(bytes, size, take_listed, &listed) && listed.ranges.count &&
              build_units(lines, &listed.ranges);
    free(listed.ranges.items);
    free(bytes);
    return ok;
}

// ---- functions of a unit

struct walk {
    struct dwarf_lines *lines;
    const char **files; // by number
    size_t file_count;
    struct symbols_ranges ranges;
};

// A path that does not begin at the root begins where the compiler was run.
static const char *whole_path(struct dwarf_lines *lines, const char *folder, const char *path) {
    if (!path || path[0] == '/' || !folder || !*folder)
        return path;
    size_t before = strlen(folder), length = strlen(path);
    char *whole = arena_take(&lines->paths, before + length + 2, 1);
    if (!whole)
        return path;
    memcpy(whole, folder, before);
    whole[before] = '/';
    memcpy(whole + before + 1, path, length + 1);
    return whole;
}

static bool name_files(struct walk *walk, Dwarf_Die *unit) {
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || count > walk->lines->budget)
        return true;
    walk->lines->budget -= count;
    const char *folder = dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
    walk->files = calloc(count + 1, sizeof *walk->files);
    if (!walk->files)
        return false;
    walk->file_count = count;
    for (size_t i = 0; i < count; i++)
        walk->files[i] = whole_path(walk->lines, folder, dwarf_filesrc(files, i, NULL, NULL));
    return true;
}

static const char *file_of(const struct walk *walk, size_t number) {
    return number < walk->file_count ? walk->files[number] : NULL;
}

static const char *name_of(Dwarf_Die *die) {
    static const unsigned NAMES[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        Dwarf_Attribute attribute;
        const char *name =
            dwarf_attr_integrate(die, NAMES[i], &attribute) ? dwarf_formstring(&attribute) : NULL;
        if (name && *name)
            return name;
    }
    return NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned which) {
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr(die, which, &attribute) && dwarf_formudata(&attribute, &value) == 0 &&
                   value <= UINT32_MAX
               ? (uint32_t)value
               : 0;
}

// The node of a function that has code, or what encloses it.
static bool add_function(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint32_t depth, uint32_t *node) {
    struct dwarf_lines *lines = walk->lines;
    bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
    size_t had = walk->ranges.count;
    void *nodes = lines->nodes;
    *node = parent;
    if (!add_ranges(lines, die, (uint32_t)lines->node_count, depth, &walk->ranges))
        return false;
    if (walk->ranges.count == had)
        return true;
    if (lines->node_count >= UINT32_MAX - 1 ||
        !array_reserve(&nodes, &lines->node_capacity, lines->node_count + 1, sizeof *lines->nodes))
        return false;
    lines->nodes = nodes;
    struct node made = {.name = name_of(die)};
    if (inlined) {
        made.parent = parent;
        made.call_line = number_of(die, DW_AT_call_line);
        made.call_file = file_of(walk, number_of(die, DW_AT_call_file));
    }
    *node = (uint32_t)lines->node_count;
    lines->nodes[lines->node_count++] = made;
    return true;
}

// Whether entries with code may lie within it.
static bool may_hold_code(Dwarf_Die *die, int tag) {
    switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return true;
    case DW_TAG_subprogram: // one that is only declared, or always inlined, has its code elsewhere
        return !dwarf_hasattr(die, DW_AT_inline) && !dwarf_hasattr(die, DW_AT_declaration);
    default:
        return false;
    }
}

// Goes over the entries in their order, with the ones that enclose them in an array: the depth is the file's.
static bool walk_entries(struct walk *walk, const Dwarf_Die *unit) {
    struct level {
        Dwarf_Die die;
        uint32_t node;
    } *levels = malloc(DEPTH_MAX * sizeof *levels);
    size_t depth = 0;
    bool ok = levels != NULL;
    if (ok)
        levels[0] = (struct level){*unit, 0};
    while (ok && spend(walk->lines)) {
        Dwarf_Die *die = &levels[depth].die;
        int tag = dwarf_tag(die);
        uint32_t node = depth ? levels[depth - 1].node : 0;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            ok = add_function(walk, die, node, (uint32_t)depth, &node);
        levels[depth].node = node;
        if (ok && depth + 1 < DEPTH_MAX && may_hold_code(die, tag) && dwarf_haschildren(die) > 0 &&
            dwarf_child(die, &levels[depth + 1].die) == 0) {
            depth++;
            continue;
        }
        int next = 1;
        while (depth && (next = dwarf_siblingof(&levels[depth].die, &levels[depth].die)) != 0) {
            walk->lines->damaged |= next < 0;
            depth--;
        }
        if (!depth)
            break;
    }
    free(levels);
    return ok;
}

// ---- lines of a unit

static struct line make_line(const struct walk *walk, Dwarf_Line *from, Dwarf_Addr address, bool end) {
    struct line line = {.address = address};
    Dwarf_Files *files;
    size_t file;
    int number;
    if (!end && dwarf_line_file(from, &files, &file) == 0)
        line.file = file_of(walk, file);
    if (!end && dwarf_lineno(from, &number) == 0 && number > 0)
        line.number = (uint32_t)number;
    return line;
}

static bool copy_lines(const struct walk *walk, struct unit *unit, Dwarf_Die *die) {
    struct dwarf_lines *lines = walk->lines;
    Dwarf_Lines *table;
    size_t count;
    if (dwarf_getsrclines(die, &table, &count) != 0) {
        lines->damaged |= dwarf_hasattr(die, DW_AT_stmt_list) != 0;
        return true;
    }
    if (count > lines->budget) {
        lines->damaged = true;
        return true;
    }
    lines->budget -= count;
    unit->lines = calloc(count + 1, sizeof *unit->lines);
    if (!unit->lines)
        return false;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *from = dwarf_onesrcline(table, i);
        Dwarf_Addr address;
        bool end = false;
        if (!from || dwarf_lineaddr(from, &address) != 0 || dwarf_lineendsequence(from, &end) != 0)
            continue;
        struct line *last = unit->line_count ? &unit->lines[unit->line_count - 1] : NULL;
        // Of two at one address the first covers nothing.
        if (last && last->address == address && !end)
            *last = make_line(walk, from, address, end);
        else if (!last || address > last->address)
            unit->lines[unit->line_count++] = make_line(walk, from, address, end);
    }
    return true;
}

static const struct line *find_line(const struct unit *unit, uint64_t address) {
    size_t first = 0, count = unit->line_count;
    if (!count || address < unit->lines[0].address)
        return NULL;
    while (count > 1) {
        size_t half = count / 2;
        bool above = unit->lines[first + half].address <= address;
        first += above ? half : 0;
        count -= above ? half : count - half;
    }
    return unit->lines[first].file ? &unit->lines[first] : NULL;
}

static void load_unit(struct dwarf_lines *lines, struct unit *unit) {
    struct walk walk = {.lines = lines};
    Dwarf_Die die;
    unit->loaded = true;
    if (!dwarf_offdie(lines->own.dwarf, unit->offset, &die)) {
        lines->damaged = true;
        return;
    }
    if (!name_files(&walk, &die) || !copy_lines(&walk, unit, &die) || !walk_entries(&walk, &die) ||
        !symbols_segments_build(&unit->functions, &walk.ranges))
        lines->damaged = true; // out of memory: what there is of the unit
    free(walk.ranges.items);
    free(walk.files);
}

// ---- the file

static bool open_image(struct opened *opened, const struct elf_file *file) {
    opened->image = symbols_image_make(file);
    opened->elf = opened->image.bytes ? elf_memory(opened->image.bytes, opened->image.size) : NULL;
    opened->dwarf = opened->elf ? dwarf_begin_elf(opened->elf, DWARF_C_READ, NULL) : NULL;
    return opened->dwarf != NULL;
}

static void close_image(struct opened *opened) {
    if (opened->dwarf)
        dwarf_end(opened->dwarf);
    if (opened->elf)
        elf_end(opened->elf);
    free(opened->image.bytes);
}

struct dwarf_lines *dwarf_lines_open(const struct elf_file *file, const struct elf_file *alternate) {
    struct dwarf_lines *lines = calloc(1, sizeof *lines);
    if (!lines || elf_version(EV_CURRENT) == EV_NONE) {
        free(lines);
        return NULL;
    }
    lines->code_start = file->code_start;
    lines->code_end = file->code_end;
    bool ok = open_image(&lines->own, file) && (!alternate || open_image(&lines->shared, alternate));
    if (ok && alternate)
        dwarf_setalt(lines->own.dwarf, lines->shared.dwarf);
    size_t size = lines->own.image.size + lines->shared.image.size;
    lines->budget = BUDGET_FIRST + (uint64_t)size * BUDGET_PER_BYTE;
    void *nodes = NULL;
    if (ok && array_reserve(&nodes, &lines->node_capacity, 1, sizeof *lines->nodes)) {
        lines->nodes = nodes;
        lines->nodes[0] = (struct node){0};
        lines->node_count = 1;
        if (list_units(lines, file) || find_units(lines))
            return lines;
    }
    dwarf_lines_close(lines);
    return NULL;
}

void dwarf_lines_close(struct dwarf_lines *lines) {
    if (!lines)
        return;
    for (size_t i = 0; i < lines->unit_count; i++) {
        free(lines->units[i].lines);
        symbols_segments_finish(&lines->units[i].functions);
    }
    free(lines->units);
    free(lines->nodes);
    symbols_segments_finish(&lines->by_address);
    arena_finish(&lines->paths);
    close_image(&lines->own);
    close_image(&lines->shared);
    free(lines);
}

size_t dwarf_lines_find(struct dwarf_lines *lines, uint64_t address, struct symbols_frame *frames,
                        size_t limit, struct symbols_frame *place) {
    uint32_t found = symbols_segments_find(&lines->by_address, address);
    size_t count = 0;
    *place = (struct symbols_frame){0};
    if (!found && !lines->walked && address >= lines->code_start && address < lines->code_end &&
        find_units(lines))
        found = symbols_segments_find(&lines->by_address, address);
    if (!found)
        return 0;
    struct unit *unit = &lines->units[found - 1];
    if (!unit->loaded)
        load_unit(lines, unit);
    const struct line *line = find_line(unit, address);
    if (line)
        *place = (struct symbols_frame){.file = line->file, .line = line->number};
    struct symbols_frame at = *place;
    for (uint32_t node = symbols_segments_find(&unit->functions, address); node && count < limit;) {
        const struct node *function = &lines->nodes[node];
        at.function = function->name;
        frames[count++] = at;
        at = (struct symbols_frame){.file = function->call_file, .line = function->call_line};
        node = function->parent;
    }
    return count;
}

bool dwarf_lines_damaged(const struct dwarf_lines *lines) {
    return lines->damaged;
}
