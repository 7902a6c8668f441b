// SPDX-License-Identifier: Apache-2.0
// Finds the symbols of a module if they are in another file. Only regular files are
// opened, and only those with the right build id (or, without one, the right checksum) are
// used.
#ifndef SYMBOLS_FILES_H
#define SYMBOLS_FILES_H

#include <limits.h>

#include "symbols/elf_file.h"

// -1 if it does not exist or is not a regular file. Never waits, for any kind of file.
int symbols_files_open(const char *path);
// The separate debug file of a module: by its build id, by the name the module gives (`module` may be NULL: it is gone), and
// last from the servers in DEBUGINFOD_URLS, when the user has set that. -1: there is none. `found` is where it is, "" when
// that has no name.
int symbols_files_debug(const char *path, const char *build_id, const struct elf_file *module,
                        char found[PATH_MAX]);
// What the debug file at `path` shares with others (dwz). False: it names one that is not there. *fd is -1 when it names none.
bool symbols_files_alternate(const char *path, const struct elf_file *debug, int *fd);

#endif
