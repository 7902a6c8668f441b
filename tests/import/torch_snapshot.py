# SPDX-License-Identifier: Apache-2.0
"""A caching allocator of devices that keeps a history, as PyTorch's does, and its snapshot as a dict of the documented shape.
What it counts while it runs is what a reader must find."""
import random

SMALL, LARGE = 2 << 20, 20 << 20


class Device:
    def __init__(self, number, limit):
        self.number, self.limit = number, limit
        self.segments, self.history, self.first = [], [], 0
        self.live, self.stacks = {}, {}  # address: requested bytes
        self.allocated = self.reserved = 0
        self.counts = []  # after each entry of the history
        self.next_address = 0x7f0000000000 + (number << 40)


class Allocator:
    """`frames`: lists of frames, the innermost first. `limit`: entries of a history that are kept."""

    def __init__(self, chance, frames, devices=1, limit=None, start_us=1_700_000_000_000_000):
        self.chance, self.frames, self.now = chance, frames, start_us
        self.devices = [Device(number, limit) for number in range(devices)]
        self.annotations = []

    def note(self, device, action, address, size, stream, frames, **more):
        self.now += self.chance.choice((0, 0, 1, 1, 3, 250))  # several within one microsecond
        entry = {"action": action, "addr": address, "size": size, "stream": stream, "time_us": self.now,
                 "compile_context": "N/A", "user_metadata": "", "frames": frames, **more}
        if action == "oom":
            entry["device_free"] = entry.pop("addr")
        device.history.append(entry)
        device.counts.append((device.allocated, device.reserved))

    def segment(self, device, size, stream, frames):
        size = max(SMALL if size <= 1 << 20 else LARGE, (size + SMALL - 1) // SMALL * SMALL)
        address = device.next_address
        device.next_address += size + (SMALL if self.chance.random() < 0.5 else 0)
        device.segments.append({"address": address, "total_size": size, "stream": stream, "frames": frames,
                                "type": "small" if size == SMALL else "large",
                                "blocks": [[address, size, 0, "inactive", []]]})
        device.reserved += size
        self.note(device, "segment_alloc", address, size, stream, frames)
        return device.segments[-1]

    def allocate(self, number, size, stream=0, frames=None):
        device = self.devices[number]
        frames = self.chance.choice(self.frames) if frames is None else frames
        rounded = max(512, (size + 511) // 512 * 512)
        place = None
        for segment in device.segments:
            if segment["stream"] == stream:
                for i, block in enumerate(segment["blocks"]):
                    if block[3] == "inactive" and block[1] >= rounded:
                        place = segment, i
                        break
            if place:
                break
        segment, i = place or (self.segment(device, rounded, stream, frames), 0)
        address, had = segment["blocks"][i][:2]
        segment["blocks"][i] = [address, rounded, size, "active_allocated", frames]
        if had > rounded:
            segment["blocks"].insert(i + 1, [address + rounded, had - rounded, 0, "inactive", []])
        device.live[address], device.stacks[address] = size, frames
        device.allocated += size
        self.note(device, "alloc", address, size, stream, frames)
        return address

    def free(self, number, address, completes=True):
        device = self.devices[number]
        for segment in device.segments:
            for i, block in enumerate(segment["blocks"]):
                if block[0] == address and block[3] == "active_allocated":
                    size = device.live.pop(address)
                    frames = device.stacks.pop(address)
                    device.allocated -= size
                    self.note(device, "free_requested", address, size, segment["stream"], frames)
                    block[3] = "active_pending_free"
                    if completes:
                        block[2:] = [0, "inactive", []]
                        self.merge(segment)
                        self.note(device, "free_completed", address, size, segment["stream"], frames)
                    return
        raise KeyError(address)

    @staticmethod
    def merge(segment):
        merged = []
        for block in segment["blocks"]:
            if merged and block[3] == merged[-1][3] == "inactive":
                merged[-1][1] += block[1]
            else:
                merged.append(block)
        segment["blocks"] = merged

    def release(self, number):
        """Segments that are free as a whole go back to the device."""
        device = self.devices[number]
        for segment in list(device.segments):
            if len(segment["blocks"]) == 1 and segment["blocks"][0][3] == "inactive":
                device.segments.remove(segment)
                device.reserved -= segment["total_size"]
                self.note(device, "segment_free", segment["address"], segment["total_size"], segment["stream"], [])

    def run(self, steps):
        for _ in range(steps):
            number = self.chance.randrange(len(self.devices))
            device = self.devices[number]
            what = self.chance.random()
            if what < 0.45 and device.live:
                self.free(number, self.chance.choice(list(device.live)), self.chance.random() < 0.95)
            elif what < 0.46:
                self.release(number)
            else:
                size = self.chance.choice((1, 100, 512, 5000, 300_000, 3_000_000))
                self.allocate(number, size + self.chance.randrange(7), self.chance.choice((0, 0, 0, 0x55aa12345678)))

    def kept(self, device):
        """The history that is in the snapshot."""
        return device.history[-device.limit:] if device.limit else device.history

    def snapshot(self):
        segments = []
        for device in self.devices:
            for segment in device.segments:
                blocks = [{"address": a, "size": s, "requested_size": r, "state": state, "frames": f}
                          for a, s, r, state, f in segment["blocks"]]
                segments.append({
                    "device": device.number, "address": segment["address"], "total_size": segment["total_size"],
                    "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
                    "active_size": sum(b["size"] for b in blocks if b["state"] != "inactive"),
                    "requested_size": sum(b["requested_size"] for b in blocks),
                    "stream": segment["stream"], "segment_type": segment["type"], "segment_pool_id": (0, 0),
                    "is_expandable": False, "frames": segment["frames"], "blocks": blocks})
        return {"segments": segments, "device_traces": [self.kept(device) for device in self.devices],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                                       "garbage_collection_threshold": 0.0, "expandable_segments": False},
                "external_annotations": self.annotations}


def make_frames(chance, functions, stacks, depth):
    """Stacks of a program: each frame is one dict, which the stacks share."""
    frames = [{"name": "f%d" % i, "filename": "/app/model%d.py" % (i % 7), "line": 10 + i} for i in range(functions)]
    frames += [{"name": "at::empty(c10::ArrayRef<long>)", "filename": "??", "line": 0}]
    return [[chance.choice(frames) for _ in range(1 + chance.randrange(depth))] for _ in range(stacks)]


def make(seed, steps=2000, devices=2, limit=None):
    chance = random.Random(seed)
    allocator = Allocator(chance, make_frames(chance, 40, 60, 12), devices, limit)
    allocator.run(steps)
    return allocator
