// SPDX-License-Identifier: Apache-2.0
// Any bytes as an execution trace of PyTorch.
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_import(data, size);
    return 0;
}
