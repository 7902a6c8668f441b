// SPDX-License-Identifier: Apache-2.0
#include <CL/cl.h>

extern cl_command_queue queue;
extern cl_kernel kernel;
void check(cl_int status);
int caller(int size, int is_deeper);
