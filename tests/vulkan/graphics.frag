#version 450
// SPDX-License-Identifier: Apache-2.0
// Some work for each pixel, so that a pass takes far longer than its timestamps. The number of rounds is the program's.
layout(push_constant) uniform Rounds { uint rounds; };
layout(location = 0) out vec4 color;
void main() {
    uint x = uint(gl_FragCoord.x) * 73856093u ^ uint(gl_FragCoord.y) * 19349663u;
    for (uint i = 0; i < rounds; i++)
        x = x * 1664525u + 1013904223u;
    color = vec4(float(x & 255u), float(x >> 8 & 255u), float(x >> 16 & 255u), 255.0) / 255.0;
}
