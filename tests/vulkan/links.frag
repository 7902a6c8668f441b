#version 450
// SPDX-License-Identifier: Apache-2.0
// A color of set 1.
layout(location = 0) in float shade;
layout(set = 1, binding = 0) uniform Tint { vec4 tint; };
layout(location = 0) out vec4 color;
void main() {
    color = tint * shade;
}
