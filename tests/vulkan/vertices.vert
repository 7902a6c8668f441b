#version 450
// SPDX-License-Identifier: Apache-2.0
// Triangles of a vertex buffer.
layout(location = 0) in vec2 place;
void main() {
    gl_Position = vec4(place, 0.0, 1.0);
}
