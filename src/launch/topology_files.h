// SPDX-License-Identifier: Apache-2.0
// Small files of /sys below a root. topology.c and topology_links.c read them. The root may be a copy of unknown origin: what
// is read is untrusted.
#ifndef LAUNCH_TOPOLOGY_FILES_H
#define LAUNCH_TOPOLOGY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOPOLOGY_PATH = 4096, TOPOLOGY_LINE = 256, TOPOLOGY_TEXT = 8192 };

// The first line of the file FOLDER/NAME, "" where there is none.
void topology_line(const char *folder, const char *name, char out[TOPOLOGY_LINE]);
// The file, as far as there is room; "" where there is none.
void topology_text_of(const char *folder, const char *name, char out[TOPOLOGY_TEXT + 1]);
// The number in the file, in the C notation; false where there is none.
bool topology_number(const char *folder, const char *name, int64_t *out);
// The number behind `key` in a file of lines "key number"; false where there is none.
bool topology_property(const char *folder, const char *name, const char *key, uint64_t *out);
// "FOLDER/NAME"; false when it is too long.
bool topology_join(char out[TOPOLOGY_PATH], const char *folder, const char *name);
// Calls `each` with the name of every entry of the folder, in the order of their names. False when it cannot be read or memory
// is exhausted.
bool topology_each(const char *folder, void (*each)(void *context, const char *name), void *context);

#endif
