// SPDX-License-Identifier: Apache-2.0
// Invariants: node 0 is "no function"; a node's parent is an earlier node. A unit is loaded at most once, also when that
// fails. `budget` only falls: each entry, range and line that libdw is asked for costs one, so that a file in which a
// thousand entries share one list of a thousand ranges is given up and not waited for.
#include "symbols/dwarf_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/sorted.h"
#include "symbols/aranges.h"
#include "symbols/image.h"
#include "symbols/scope.h"

enum { DEPTH_MAX = 256, BUDGET_FIRST = 1 << 16, BUDGET_PER_BYTE = 16 };

// A function at a place: out of line (call_line 0 and no parent), or inlined into its parent at the call's line.
struct node {
    const char *name;
    const char *call_file;
    uint32_t call_line;
    uint32_t parent;
    uint32_t bare; // its entry in `bare`, + 1, as long as its name is what the entry calls it; 0: it is whole
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

// Offsets at which the parts of units begin, in order.
struct bases {
    uint64_t *items;
    size_t count, capacity;
};

struct dwarf_lines {
    struct opened own, shared;
    struct symbols_split *split;
    struct opened *splits; // units that were read from another file: their names are there
    size_t split_count, split_capacity;
    struct bases address_bases, range_bases; // of GNU's split units, which do not store their end
    bool bases_known;
    uint64_t code_start, code_end;
    struct unit *units;
    size_t unit_count, unit_capacity;
    struct symbols_segments by_address; // value: unit + 1
    struct node *nodes;
    size_t node_count, node_capacity;
    Dwarf_Die *bare; // functions whose whole name is computed on request
    size_t bare_count, bare_capacity;
    struct arena texts;
    uint64_t budget;
    struct symbols_scopes scopes; // whole names are worth less than lines: they have a budget of their own
    bool walked; // all units were looked into for their ranges; false: those of .debug_aranges are known
    bool damaged;
};

// False: there is no DWARF in it.
static bool open_image(struct opened *opened) {
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

static bool attribute_value(Dwarf_Die *die, unsigned which, uint64_t *value) {
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (!dwarf_attr(die, which, &attribute) || dwarf_formudata(&attribute, &word) != 0)
        return false;
    *value = word;
    return true;
}

static bool spend_budget(struct dwarf_lines *lines) {
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
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && spend_budget(lines))
        if (start >= lines->code_start && end <= lines->code_end && start &&
            !symbols_ranges_add(ranges, (struct symbols_range){start, end, value, depth}))
            return false;
    if (at < 0)
        lines->damaged = true;
    return true;
}

static bool add_unit(struct dwarf_lines *lines, Dwarf_Off offset) {
    if (lines->unit_count >= UINT32_MAX - 1 ||
        !ARRAY_RESERVE(lines->units, lines->unit_capacity, lines->unit_count + 1))
        return false;
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
    // Without the last argument libdw leaves files with split DWARF alone. A skeleton of GNU's that has entries (clang's
    // -fsplit-dwarf-inlining) is a split unit to it.
    while (ok && spend_budget(lines) &&
           (got = dwarf_get_units(lines->own.dwarf, unit, &unit, &version, &type, &die, NULL)) == 0)
        if (type == DW_UT_compile || type == DW_UT_skeleton || type == DW_UT_split_compile)
            ok = add_unit(lines, dwarf_dieoffset(&die)) &&
                 add_ranges(lines, &die, (uint32_t)lines->unit_count, 0, &ranges);
    if (got < 0)
        lines->damaged = true;
    ok = ok && build_units(lines, &ranges);
    free(ranges.items);
    lines->walked = true;
    return ok;
}

// ---- the file's ranges of its units

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
    if (!spend_budget(lines))
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
    char *whole = arena_take(&lines->texts, before + length + 2, 1);
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

static uint32_t number_of(Dwarf_Die *die, unsigned which) {
    uint64_t value;
    return attribute_value(die, which, &value) && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static uint32_t note_bare(struct dwarf_lines *lines, Dwarf_Die *die) {
    if (!symbols_scope_lacks(die) || lines->bare_count >= UINT32_MAX - 1 ||
        !ARRAY_RESERVE(lines->bare, lines->bare_capacity, lines->bare_count + 1))
        return 0;
    lines->bare[lines->bare_count++] = *die;
    return (uint32_t)lines->bare_count;
}

static const char *whole_name(struct dwarf_lines *lines, struct node *node) {
    if (node->bare && node->name)
        node->name =
            symbols_scope_name(&lines->bare[node->bare - 1], node->name, &lines->texts, &lines->scopes);
    node->bare = 0;
    return node->name;
}

// The node of a function that has code, or what encloses it.
static bool add_function(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint32_t depth, uint32_t *node) {
    struct dwarf_lines *lines = walk->lines;
    bool inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
    size_t had = walk->ranges.count;
    *node = parent;
    if (!add_ranges(lines, die, (uint32_t)lines->node_count, depth, &walk->ranges))
        return false;
    if (walk->ranges.count == had)
        return true;
    if (lines->node_count >= UINT32_MAX - 1 ||
        !ARRAY_RESERVE(lines->nodes, lines->node_capacity, lines->node_count + 1))
        return false;
    struct node made = {.name = symbols_scope_given(die), .bare = note_bare(lines, die)};
    if (inlined) {
        made.parent = parent;
        made.call_line = number_of(die, DW_AT_call_line);
        made.call_file = file_of(walk, number_of(die, DW_AT_call_file));
    }
    *node = (uint32_t)lines->node_count;
    lines->nodes[lines->node_count++] = made;
    return true;
}

// Whether entries with code may be inside it.
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
    while (ok && spend_budget(walk->lines)) {
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

// ---- units in other files

static int compare_bases(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void add_base(struct dwarf_lines *lines, struct bases *bases, Dwarf_Die *die, unsigned attribute) {
    uint64_t base;
    if (!attribute_value(die, attribute, &base))
        return;
    if (!ARRAY_RESERVE(bases->items, bases->capacity, bases->count + 1)) {
        lines->damaged = true;
        return;
    }
    bases->items[bases->count++] = base;
}

static void learn_bases(struct dwarf_lines *lines) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    lines->bases_known = true;
    while (spend_budget(lines) &&
           dwarf_get_units(lines->own.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        add_base(lines, &lines->address_bases, &die, DW_AT_GNU_addr_base);
        add_base(lines, &lines->range_bases, &die, DW_AT_GNU_ranges_base);
    }
    if (lines->address_bases.count)
        qsort(lines->address_bases.items, lines->address_bases.count, sizeof(uint64_t), compare_bases);
    if (lines->range_bases.count)
        qsort(lines->range_bases.items, lines->range_bases.count, sizeof(uint64_t), compare_bases);
}

// The part of a section from `base` up to where the next unit's part begins.
static struct symbols_bytes part_from(const struct dwarf_lines *lines, enum symbols_section section,
                                      const struct bases *bases, uint64_t base) {
    struct symbols_bytes whole = symbols_image_part(&lines->own.image, section);
    // The first beyond it.
    const size_t at = SORTED_FIND(i, 0, bases->count, bases->items[i] <= base);
    uint64_t end = at < bases->count ? bases->items[at] : whole.size;
    if (end > whole.size || base >= end)
        return (struct symbols_bytes){0};
    return (struct symbols_bytes){whole.bytes + base, (size_t)(end - base)};
}

// DWARF 5 stores the length of the part: 8 bytes before it.
static struct symbols_bytes addresses_from(const struct dwarf_lines *lines, uint64_t base) {
    struct symbols_bytes whole = symbols_image_part(&lines->own.image, SYMBOLS_ADDR);
    if (base < 8 || base > whole.size)
        return (struct symbols_bytes){0};
    uint64_t length = bytes_get_u32(whole.bytes + base - 8);
    if (length < 4 || length - 4 > whole.size - base)
        return (struct symbols_bytes){0};
    return (struct symbols_bytes){whole.bytes + base, (size_t)(length - 4)};
}

static const char *attribute_text(Dwarf_Die *die, unsigned which) {
    Dwarf_Attribute attribute;
    return dwarf_attr(die, which, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static struct symbols_skeleton skeleton_of(struct dwarf_lines *lines, Dwarf_Die *die) {
    struct symbols_skeleton skeleton = {.folder = attribute_text(die, DW_AT_comp_dir)};
    Dwarf_Half version = 0;
    uint8_t type;
    uint64_t address_base = 0, range_base = 0;
    Dwarf_Addr low;
    (void)dwarf_cu_info(die->cu, &version, &type, NULL, NULL, &skeleton.id, NULL, NULL);
    skeleton.name = attribute_text(die, version >= 5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name);
    if (dwarf_lowpc(die, &low) == 0)
        skeleton.base = low;
    if (version >= 5) {
        if (attribute_value(die, DW_AT_addr_base, &address_base))
            skeleton.addresses = addresses_from(lines, address_base);
        return skeleton;
    }
    if (!lines->bases_known)
        learn_bases(lines);
    (void)attribute_value(die, DW_AT_GNU_dwo_id, &skeleton.id);
    (void)attribute_value(die, DW_AT_GNU_addr_base, &address_base);
    (void)attribute_value(die, DW_AT_GNU_ranges_base, &range_base);
    skeleton.addresses = part_from(lines, SYMBOLS_ADDR, &lines->address_bases, address_base);
    skeleton.ranges = part_from(lines, SYMBOLS_RANGES, &lines->range_bases, range_base);
    return skeleton;
}

// The unit's entry for the skeleton. False: not available; the skeleton has lines, but no functions.
static bool find_split(struct dwarf_lines *lines, Dwarf_Die *skeleton_die, Dwarf_Die *die) {
    if (!lines->split || !ARRAY_RESERVE(lines->splits, lines->split_capacity, lines->split_count + 1))
        return false;
    struct symbols_skeleton skeleton = skeleton_of(lines, skeleton_die);
    struct opened *opened = &lines->splits[lines->split_count];
    *opened = (struct opened){.image = symbols_split_read(lines->split, &skeleton)};
    Dwarf_Off next;
    size_t header;
    bool ok = open_image(opened) &&
              dwarf_next_unit(opened->dwarf, 0, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) == 0 &&
              dwarf_offdie(opened->dwarf, header, die) != NULL;
    if (!ok) {
        close_image(opened);
        return false;
    }
    lines->split_count++;
    lines->budget += (uint64_t)opened->image.size * BUDGET_PER_BYTE;
    return true;
}

static void load_unit(struct dwarf_lines *lines, struct unit *unit) {
    struct walk walk = {.lines = lines};
    Dwarf_Die die, split;
    unit->loaded = true;
    if (!dwarf_offdie(lines->own.dwarf, unit->offset, &die)) {
        lines->damaged = true;
        return;
    }
    bool is_skeleton = dwarf_hasattr(&die, DW_AT_dwo_name) || dwarf_hasattr(&die, DW_AT_GNU_dwo_name);
    bool found = is_skeleton && find_split(lines, &die, &split);
    lines->damaged |= is_skeleton && !found;
    if (!name_files(&walk, &die) || !copy_lines(&walk, unit, &die) ||
        !walk_entries(&walk, found ? &split : &die) ||
        !symbols_segments_build(&unit->functions, &walk.ranges))
        lines->damaged = true; // out of memory: what there is of the unit
    free(walk.ranges.items);
    free(walk.files);
}

// ---- the file

struct dwarf_lines *dwarf_lines_open(const struct elf_file *file, const struct elf_file *alternate,
                                     struct symbols_split *split) {
    struct dwarf_lines *lines = calloc(1, sizeof *lines);
    if (!lines || elf_version(EV_CURRENT) == EV_NONE) {
        symbols_split_destroy(split);
        free(lines);
        return NULL;
    }
    lines->split = split;
    lines->own.image = symbols_image_make(file);
    if (alternate)
        lines->shared.image = symbols_image_make(alternate);
    lines->code_start = file->code_start;
    lines->code_end = file->code_end;
    bool ok = open_image(&lines->own) && (!alternate || open_image(&lines->shared));
    if (ok && alternate)
        dwarf_setalt(lines->own.dwarf, lines->shared.dwarf);
    size_t size = lines->own.image.size + lines->shared.image.size;
    lines->budget = BUDGET_FIRST + (uint64_t)size * BUDGET_PER_BYTE;
    lines->scopes.budget = BUDGET_FIRST + (uint64_t)size;
    if (ok && ARRAY_RESERVE(lines->nodes, lines->node_capacity, 1)) {
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
    free(lines->bare);
    symbols_scopes_finish(&lines->scopes);
    symbols_segments_finish(&lines->by_address);
    arena_finish(&lines->texts);
    for (size_t i = 0; i < lines->split_count; i++)
        close_image(&lines->splits[i]);
    free(lines->splits);
    free(lines->address_bases.items);
    free(lines->range_bases.items);
    symbols_split_destroy(lines->split);
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
        struct node *function = &lines->nodes[node];
        at.function = whole_name(lines, function);
        frames[count++] = at;
        at = (struct symbols_frame){.file = function->call_file, .line = function->call_line};
        node = function->parent;
    }
    return count;
}

bool dwarf_lines_damaged(const struct dwarf_lines *lines) {
    return lines->damaged;
}
