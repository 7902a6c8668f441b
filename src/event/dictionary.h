// SPDX-License-Identifier: Apache-2.0
// Parts of a dictionary that the files of this room share.
#ifndef EVENT_DICTIONARY_H
#define EVENT_DICTIONARY_H

#include "tracesmith/dictionary.h"

struct labels;

// Where labels are counted: changes with the requests, not with the content of the dictionary.
struct labels *dictionary_labels(const tsmith_dictionary *dictionary);

#endif
