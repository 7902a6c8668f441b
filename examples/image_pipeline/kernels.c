// SPDX-License-Identifier: Apache-2.0

#include "kernels.h"

// Makes a string of OpenCL C that an editor can still indent and color. What is between the brackets
// becomes one line of the device's source, without its comments; a compiler's message names that line.
#define OPENCL_C(...) #__VA_ARGS__ "\n"

// clang-format off
const char kernels_source[] =

// A row of Pascal's triangle: close to a Gaussian, and its sum is 256, so dividing is a shift.
OPENCL_C(
__constant uint weights[9] = {1, 8, 28, 56, 70, 56, 28, 8, 1};
)

OPENCL_C(
uint luminance(ushort4 pixel)
{
    return (54u * pixel.x + 183u * pixel.y + 19u * pixel.z) >> 8;
}
)

// A Gaussian blur is separable: first along the rows ...
OPENCL_C(
__kernel void blur_rows(__global const ushort4 *in, __global ushort4 *out, int width, int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint4 sum = (uint4)(0);
    for (int tap = -4; tap <= 4; tap++)
        sum += weights[tap + 4] * convert_uint4(in[y * width + clamp(x + tap, 0, width - 1)]);
    out[y * width + x] = convert_ushort4(sum >> 8);
}
)

// ... then along the columns: 18 taps in all instead of 81.
OPENCL_C(
__kernel void blur_columns(__global const ushort4 *in, __global ushort4 *out, int width, int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint4 sum = (uint4)(0);
    for (int tap = -4; tap <= 4; tap++)
        sum += weights[tap + 4] * convert_uint4(in[clamp(y + tap, 0, height - 1) * width + x]);
    out[y * width + x] = convert_ushort4(sum >> 8);
}
)

// How steeply the light changes at each pixel.
OPENCL_C(
__kernel void sobel_edges(__global const ushort4 *in, __global ushort *edges, int width, int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const int left = max(x - 1, 0);
    const int right = min(x + 1, width - 1);
    const int above = max(y - 1, 0) * width;
    const int here = y * width;
    const int below = min(y + 1, height - 1) * width;
    const int nw = luminance(in[above + left]);
    const int n = luminance(in[above + x]);
    const int ne = luminance(in[above + right]);
    const int w = luminance(in[here + left]);
    const int e = luminance(in[here + right]);
    const int sw = luminance(in[below + left]);
    const int s = luminance(in[below + x]);
    const int se = luminance(in[below + right]);
    const int across = ne + 2 * e + se - nw - 2 * w - sw;
    const int down = sw + 2 * s + se - nw - 2 * n - ne;
    edges[here + x] = (ushort)min(abs(across) + abs(down), 65535u);
}
)

// Each group counts into its own local bins, and adds them to the global ones once, at the end.
OPENCL_C(
__kernel void luminance_histogram(__global const ushort4 *in, __global uint *bins, uint pixels,
                                  __local uint *group_bins)
{
    const uint self = get_local_id(0);
    for (uint bin = self; bin < HISTOGRAM_BINS; bin += get_local_size(0))
        group_bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < pixels; i += get_global_size(0))
        atomic_inc(&group_bins[luminance(in[i]) * HISTOGRAM_BINS >> 16]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = self; bin < HISTOGRAM_BINS; bin += get_local_size(0))
        if (group_bins[bin] != 0)
            atomic_add(&bins[bin], group_bins[bin]);
}
)

// One work-item: the exposure, in 1/256, that brings the brightness of the 80th percentile to the middle.
OPENCL_C(
__kernel void choose_exposure(__global const uint *bins, __global uint *exposure, uint pixels)
{
    uint below = 0;
    uint bin = 0;
    while (bin < HISTOGRAM_BINS - 1) {
        below += bins[bin];
        if (below >= pixels - pixels / 5)
            break;
        bin++;
    }
    exposure[0] = clamp(256u * 32u / (bin + 1u), 64u, 4096u);
}
)

// Light to screen: add the glow, expose, compress the highlights, apply the curve, darken the edges.
OPENCL_C(
uint develop(uint light, uint glow, uint edge, uint exposure, __global const uchar *curve)
{
    const uint exposed = min((light + glow / 2u) * exposure >> 8, 524287u);
    const uint compressed = exposed * (CURVE_STEPS - 1u) / (exposed + 32768u);
    const uint shown = curve[compressed];
    return shown - (shown * min(edge, 32767u) >> 16);
}
)

OPENCL_C(
__kernel void tone_map(__global const ushort4 *in, __global const ushort4 *blurred, __global const ushort *edges,
                       __global const uint *exposure, __global const uchar *curve, __global uchar4 *out,
                       int width, int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const int at = y * width + x;
    const ushort4 light = in[at];
    const ushort4 glow = blurred[at];
    const uint edge = edges[at];
    out[at] = (uchar4)(develop(light.x, glow.x, edge, exposure[0], curve),
                       develop(light.y, glow.y, edge, exposure[0], curve),
                       develop(light.z, glow.z, edge, exposure[0], curve), 255);
}
)
;
// clang-format on
