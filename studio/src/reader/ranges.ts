// Files of the place that a page was loaded from, read in ranges by synchronous requests, as the reader needs them. For a worker: a page
// would stand still meanwhile.
import { Files } from "./module";

const BLOCK = 1 << 16; // bytes: what is asked for is whole blocks
const AHEAD_MOST = 1 << 22; // bytes read beyond what is asked for, where the file is read in order
const KEPT = 1 << 26; // bytes of blocks

// What is needed of a file at once, in another one: its places there, in order, as [offset, length].
export interface Parts {
  file: string;
  of: number; // bytes of the whole
  ranges: [number, number][];
}

interface Remote {
  url: string;
  parts: { from: number; bytes: Uint8Array }[]; // in order; they stay
  size: number;
  whole: Uint8Array | null; // where the server does not know ranges
  blocks: Map<number, Uint8Array>; // the one used last is the last
  next: number; // the block behind those read last
  ahead: number;
}

// The bytes [from, to) of a file, or as many as there are; its size is noted.
function get(remote: Remote, from: number, to: number): Uint8Array | null {
  const request = new XMLHttpRequest();
  request.open("GET", remote.url, false);
  request.responseType = "arraybuffer";
  request.setRequestHeader("Range", `bytes=${from}-${to - 1}`);
  try {
    request.send();
  } catch {
    return null;
  }
  const bytes = new Uint8Array((request.response as ArrayBuffer | null) ?? new ArrayBuffer(0));
  if (request.status === 200) {
    remote.whole = bytes;
    remote.size = bytes.length;
    return bytes.subarray(from, to);
  }
  const size = Number(/\/(\d+)$/.exec(request.getResponseHeader("Content-Range") ?? "")?.[1] ?? NaN);
  // Another size: the file was replaced meanwhile.
  if (request.status !== 206 || !Number.isFinite(size) || (remote.size >= 0 && size !== remote.size)) return null;
  remote.size = size;
  return bytes;
}

// The bytes of a part from a place in it on.
function partAt(remote: Remote, place: number): Uint8Array | undefined {
  let low = 0, high = remote.parts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (remote.parts[middle]!.from <= place) low = middle + 1;
    else high = middle;
  }
  const part = remote.parts[low - 1];
  return part?.bytes.subarray(place - part.from);
}

export class RemoteFiles implements Files {
  private readonly files: Remote[] = [];
  received = 0; // bytes

  constructor(private readonly base: string) {}

  open(name: string): number {
    const url = new URL(name.split("/").map(encodeURIComponent).join("/"), this.base).href;
    const known = this.files.findIndex((file) => file.url === url);
    if (known >= 0) return known;
    const remote: Remote = { url, parts: [], size: -1, whole: null, blocks: new Map(), next: 0, ahead: 0 };
    const first = get(remote, 0, BLOCK);
    if (!first) return -1;
    this.received += first.length;
    if (!remote.whole) this.keep(remote, 0, first);
    return this.files.push(remote) - 1;
  }

  // Fetches parts of a file before they are asked for. Without them they are read like the rest.
  preload(name: string, parts: Parts): void {
    const remote = this.files[this.open(name)];
    const length = parts.ranges.reduce((sum, [, size]) => sum + size, 0);
    if (!remote || remote.whole || remote.size !== parts.of) return;
    const all = this.files[this.open(parts.file)];
    if (all?.size !== length) return;
    const bytes = all.whole ?? get(all, 0, length);
    if (bytes?.length !== length) return;
    if (!all.whole) this.received += length;
    let at = 0;
    for (const [from, size] of parts.ranges) {
      remote.parts.push({ from, bytes: bytes.subarray(at, at + size) });
      at += size;
    }
  }

  size(file: number): number {
    return this.files[file]?.size ?? -1;
  }

  read(file: number, offset: number, out: Uint8Array): number {
    const remote = this.files[file];
    if (!remote || offset > remote.size) return remote ? 0 : -1;
    const length = Math.min(out.length, remote.size - offset);
    if (remote.whole) {
      out.set(remote.whole.subarray(offset, offset + length));
      return length;
    }
    for (let at = 0; at < length; ) {
      const place = offset + at, number = Math.floor(place / BLOCK);
      const known = partAt(remote, place)?.subarray(0, length - at);
      if (known?.length) {
        out.set(known, at);
        at += known.length;
        continue;
      }
      const block = remote.blocks.get(number) ?? this.fetchFrom(remote, number, Math.floor((offset + length - 1) / BLOCK));
      if (!block) return -1;
      const part = block.subarray(place - number * BLOCK, place - number * BLOCK + length - at);
      if (!part.length) return -1; // shorter than the server said
      out.set(part, at);
      at += part.length;
    }
    return length;
  }

  // Block `first`, with those up to `last` and, in a file that is read in order, more.
  private fetchFrom(remote: Remote, first: number, last: number): Uint8Array | null {
    remote.ahead = first === remote.next ? Math.min(Math.max(remote.ahead * 2, BLOCK), AHEAD_MOST) : 0;
    let end = last + 1 + remote.ahead / BLOCK;
    for (let number = first + 1; number < end; number++) if (remote.blocks.has(number)) end = number;
    const bytes = get(remote, first * BLOCK, Math.min(end * BLOCK, remote.size));
    if (!bytes) return null;
    this.received += bytes.length;
    for (let number = first; number < end; number++)
      this.keep(remote, number, bytes.subarray((number - first) * BLOCK, (number - first + 1) * BLOCK));
    remote.next = end;
    return remote.blocks.get(first) ?? null;
  }

  private keep(remote: Remote, number: number, bytes: Uint8Array): void {
    if (!bytes.length) return;
    remote.blocks.set(number, bytes.slice());
    for (const oldest of remote.blocks.keys()) {
      if (remote.blocks.size * BLOCK <= KEPT || oldest === number) break;
      remote.blocks.delete(oldest);
    }
  }
}
