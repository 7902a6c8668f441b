// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Chakra execution trace.
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_import(data, size);
    return 0;
}
