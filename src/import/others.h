// SPDX-License-Identifier: Apache-2.0
#ifndef IMPORT_OTHERS_H
#define IMPORT_OTHERS_H

#include "import/input.h"

// What a file is that is known and not read, and what to do with it; NULL when it is not known.
const char *others_find(const struct input *input, const char *name);

#endif
