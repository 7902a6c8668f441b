// SPDX-License-Identifier: Apache-2.0
// Where libraries are: our agents, and the API loaders that programs will find.
#ifndef LAUNCH_LAUNCH_AGENTS_H
#define LAUNCH_LAUNCH_AGENTS_H

#include <stdbool.h>
#include <stddef.h>

// The agent of an API in a directory; false when it is not there.
bool launch_agent_path(const char *directory, const char *api, char *out, size_t size);
// The path of a library that is loaded.
bool launch_library_path(void *library, char *out, size_t size);
// Where the dynamic linker would find a library, as far as that can be determined without loading it: LD_LIBRARY_PATH
// and the usual directories.
bool launch_find_library(const char *name, char *out, size_t size);

// The same, also in the folders of a list; NULL: none.
bool launch_find_library_in(const char *name, const char *folders, char *out, size_t size);

// What is added to a message about a part that is not there.
#define LAUNCH_HOW_BUILT "; in its source tree ./dev build builds it"

#endif
