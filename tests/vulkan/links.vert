#version 450
// SPDX-License-Identifier: Apache-2.0
// Triangles of a vertex buffer, moved by what set 0 has.
layout(location = 0) in vec2 place;
layout(set = 0, binding = 0) uniform Move { vec4 move; };
layout(location = 0) out float shade;
void main() {
    shade = 0.75;
    gl_Position = vec4(place + move.xy, 0.0, 1.0);
}
