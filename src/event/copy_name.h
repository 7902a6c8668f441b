// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_COPY_NAME_H
#define EVENT_COPY_NAME_H

#include "tracesmith/dictionary.h"
#include "tracesmith/schema.h"

// The direction in the name of a copy: "Memcpy HtoD (Pageable -> Device)" (CUPTI, Kineto), "CopyHostToDevice" and
// "MEMORY_COPY_HOST_TO_DEVICE" (ROCm), "DEVICE_TO_HOST" (an argument of MTIA). 0: none.
tsmith_direction copy_direction(tsmith_string name);

#endif
