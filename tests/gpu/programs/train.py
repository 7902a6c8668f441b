# SPDX-License-Identifier: Apache-2.0
"""train.py [plain|kineto] STEPS: steps of a small network; prints the time of a step, and how many
commands of the device Kineto saw. Exits with 77 without PyTorch or GPU."""
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)


def main(how, steps):
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512))
                                  for _ in range(12)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(64, 512, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(data).square().mean().backward()
        optimizer.step()

    for _ in range(10):
        step()
    torch.cuda.synchronize()
    profiler = None
    if how == "kineto":
        from torch.profiler import ProfilerActivity, profile
        profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        profiler.__enter__()
        step()
        torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    took = time.perf_counter_ns() - begin
    if profiler:
        profiler.__exit__(None, None, None)
        kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        print("figure kineto_kernels %d" % len(kernels))
    print("version PyTorch %s, CUDA %s" % (torch.__version__, torch.version.cuda))
    print("figure step_ns %.0f" % (took / steps))


main(sys.argv[1] if len(sys.argv) > 1 else "plain", int(sys.argv[2]) if len(sys.argv) > 2 else 50)
