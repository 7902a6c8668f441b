// SPDX-License-Identifier: Apache-2.0
#ifndef CUDA_CONTROL_H
#define CUDA_CONTROL_H

void control_start(void);

#endif
