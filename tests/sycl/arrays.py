# SPDX-License-Identifier: Apache-2.0
"""Arrays of dpnp, whose operations are SYCL kernels of DPC++. For test_dpnp.sh."""
import dpnp

a = dpnp.arange(1000)
b = dpnp.ones(1000)
c = dpnp.matmul(dpnp.ones((64, 64)), dpnp.ones((64, 64)))
for _ in range(20):
    b = b * 2 - a
print(float((a + b).sum()), float(c.sum()), float(dpnp.sqrt(c).max()))
