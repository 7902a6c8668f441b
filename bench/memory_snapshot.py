# SPDX-License-Identifier: Apache-2.0
"""Writes a memory snapshot as PyTorch does, of about so many bytes: python3 bench/memory_snapshot.py OUT.pickle BYTES

Every allocation has a list of frames of its own, which its frees share, as torch.cuda.memory._snapshot gives it; the file is
what Python's pickle makes of that dict. With a third argument `shared` a thousand lists are shared by all allocations."""
import os
import pickle
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "import"))
from torch_snapshot import Allocator, make_frames  # noqa: E402


class Fast(Allocator):
    """Takes a free block of the same size without a search."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.unused, self.order = {}, []

    def allocate(self, number, size, stream=0, frames=None):
        device = self.devices[number]
        frames = list(self.chance.choice(self.frames)) if frames is None else frames
        free = self.unused.get(size)
        block = free.pop() if free else None
        if not block:
            segment = self.segment(device, size, stream, frames)
            block = segment["blocks"][0]
            if block[1] > size:
                for at in range(block[0] + size, block[0] + block[1] - size + 1, size):
                    segment["blocks"].append([at, size, 0, "inactive", []])
                    self.unused.setdefault(size, []).append(segment["blocks"][-1])
                block[1] = size
        block[2:] = [size - 12, "active_allocated", frames]
        device.allocated += size - 12
        self.note(device, "alloc", block[0], size - 12, stream, frames)
        self.order.append(block)

    def give_back(self, number):
        device = self.devices[number]
        at = self.chance.randrange(len(self.order))
        self.order[at], self.order[-1] = self.order[-1], self.order[at]
        block = self.order.pop()
        frames, size = block[4], block[2]
        device.allocated -= size
        self.note(device, "free_requested", block[0], size, 0, frames)
        self.note(device, "free_completed", block[0], size, 0, frames)
        block[2:] = [0, "inactive", []]
        self.unused.setdefault(block[1], []).append(block)


def main():
    path, size = sys.argv[1], int(sys.argv[2])
    chance = random.Random(1)
    stacks = make_frames(chance, 2000, 1000, 40)
    allocator = Fast(chance, stacks)
    if sys.argv[3:] == ["shared"]:
        allocator.frames = stacks
        allocate = lambda: allocator.allocate(0, chance.choice((512, 65536, 1 << 20)), 0, chance.choice(stacks))  # noqa: E731
    else:
        allocate = lambda: allocator.allocate(0, chance.choice((512, 65536, 1 << 20)))  # noqa: E731
    per_step = 190 if sys.argv[3:] == ["shared"] else 330
    for _ in range(size // per_step):
        allocate()
        if len(allocator.order) > 20000:
            allocator.give_back(0)
    with open(path, "wb") as file:
        pickle.dump(allocator.snapshot(), file)
    print("%d entries, %d bytes, %d allocated" % (len(allocator.devices[0].history), os.path.getsize(path),
                                                  allocator.devices[0].allocated))


main()
