// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };

void main() {
    uint value = data[gl_GlobalInvocationID.x] + gl_GlobalInvocationID.x;
    for (int i = 0; i < 200; i++)
        value = value * 1664525u + 1013904223u;
    data[gl_GlobalInvocationID.x] = value;
}
