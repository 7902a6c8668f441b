// SPDX-License-Identifier: Apache-2.0
// Boost.Compute: a scan, a sort, a reduction, a transformation and a compaction of the same numbers.
#include <cstdio>
#include <vector>

#include <boost/compute.hpp>

namespace compute = boost::compute;

int main() {
    const compute::device device = compute::system::default_device();
    const compute::context context(device);
    compute::command_queue queue(context, device);
    std::vector<int> host(20000);
    unsigned state = 1;
    for (int &value : host) {
        state = state * 1664525u + 1013904223u;
        value = (int)(state >> 8);
    }
    compute::vector<int> numbers(host.size(), context), sums(host.size(), context);
    compute::copy(host.begin(), host.end(), numbers.begin(), queue);
    compute::exclusive_scan(numbers.begin(), numbers.end(), sums.begin(), queue);
    compute::sort(numbers.begin(), numbers.end(), queue);
    int total = 0;
    compute::reduce(numbers.begin(), numbers.end(), &total, queue);
    compute::transform(numbers.begin(), numbers.end(), sums.begin(), sums.begin(), compute::plus<int>(),
                       queue);
    const auto end = compute::unique(numbers.begin(), numbers.end(), queue);
    compute::copy(sums.begin(), sums.end(), host.begin(), queue);
    unsigned digest = 0;
    for (const int value : host)
        digest = digest * 31 + (unsigned)value;
    std::printf("%d %ld %u\n", total, (long)(end - numbers.begin()), digest);
}
