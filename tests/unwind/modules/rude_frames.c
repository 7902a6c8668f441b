// SPDX-License-Identifier: Apache-2.0
// Compiled without .eh_frame; -DNAME=rude_framed with a frame pointer, -DNAME=rude_unframed without.
#include "rude.h"

void NAME(void (*function)(void)) {
    volatile char bytes[200];
    bytes[0] = 1;
    function();
    bytes[1] = bytes[0];
}
