// SPDX-License-Identifier: Apache-2.0
// ViennaCL: a sparse system by conjugate gradients, a dense product, a dense system by LU. Prints the exact results.
#define VIENNACL_WITH_OPENCL
#include <cstdio>
#include <map>
#include <vector>

#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/lu.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/vector.hpp>

static void sparse() {
    const size_t size = 200;
    std::vector<float> host(size);
    std::vector<std::map<unsigned, float>> rows(size);
    for (unsigned i = 0; i < size; i++) {
        host[i] = (float)(i % 7) - 3;
        rows[i][i] = 4;
        if (i)
            rows[i][i - 1] = -1;
        if (i + 1 < size)
            rows[i][i + 1] = -1;
    }
    viennacl::vector<float> right(size);
    viennacl::compressed_matrix<float> matrix(size, size);
    viennacl::copy(host, right);
    viennacl::copy(rows, matrix);
    const viennacl::vector<float> left =
        viennacl::linalg::solve(matrix, right, viennacl::linalg::cg_tag(1e-6, 50));
    viennacl::copy(left, host);
    const float product = viennacl::linalg::inner_prod(left, right);
    std::printf("%a %a\n", host[18], product);
}

static void dense() {
    const size_t size = 64;
    std::vector<std::vector<float>> rows(size, std::vector<float>(size));
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            rows[i][j] = i == j ? 70.0f : (float)((i * 7 + j * 3) % 5);
    viennacl::matrix<float> matrix(size, size), product(size, size);
    viennacl::vector<float> vector(size);
    viennacl::copy(rows, matrix);
    for (size_t i = 0; i < size; i++)
        vector[i] = (float)i;
    product = viennacl::linalg::prod(matrix, matrix);
    viennacl::linalg::lu_factorize(matrix);
    viennacl::linalg::lu_substitute(matrix, vector);
    const float one = product(3, 5), other = vector[10];
    std::printf("%a %a\n", one, other);
}

int main() {
    sparse();
    dense();
}
