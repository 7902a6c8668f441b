// SPDX-License-Identifier: Apache-2.0
// What a newer CUPTI than the one in use does right.
#ifndef CUDA_LATER_FIXES_H
#define CUDA_LATER_FIXES_H

// Once, after the library was chosen.
void later_fixes_tell(void);

#endif
