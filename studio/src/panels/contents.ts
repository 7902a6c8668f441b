// The memory that a recorded command writes, before and after it: as numbers, and as a picture with the difference.
import { clipped, element, fill } from "../dom";
import { bytes, count, counted } from "../format";
import { table } from "./table";

export interface Memory {
  buffer: number;
  element: string;
  bytes: number;
  offset: number; // of the part that is here
  shown: number;
  image: { width: number; height: number; pixel_bytes: number } | null;
  before: string | null; // base64
  before_reason?: string;
  after: string | null;
  after_reason?: string;
}

const SIZES: Record<string, number> = { u8: 1, i8: 1, u16: 2, i16: 2, f16: 2, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8 };
const PICTURE_MOST = 1 << 20;

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

// The elements of memory as little-endian bytes. Integers of 64 bits lose digits beyond 2^53.
export function numbers(base64: string, kind: string): Float64Array {
  const text = atob(base64), raw = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const view = new DataView(raw.buffer), size = SIZES[kind] ?? 1;
  const made = new Float64Array(Math.floor(raw.length / size));
  const at: Record<string, (place: number) => number> = {
    u8: (i) => view.getUint8(i), i8: (i) => view.getInt8(i), u16: (i) => view.getUint16(i, true), i16: (i) => view.getInt16(i, true),
    f16: (i) => half(view.getUint16(i, true)), u32: (i) => view.getUint32(i, true), i32: (i) => view.getInt32(i, true),
    f32: (i) => view.getFloat32(i, true), u64: (i) => Number(view.getBigUint64(i, true)), i64: (i) => Number(view.getBigInt64(i, true)), f64: (i) => view.getFloat64(i, true),
  };
  const read = at[kind] ?? at["u8"]!;
  for (let i = 0; i < made.length; i++) made[i] = read(i * size);
  return made;
}

interface Grid {
  wide: number; // elements in a row, or pixels
  channels: number; // elements of a pixel
}

function gridOf(memory: Memory, length: number): Grid {
  const size = SIZES[memory.element] ?? 1;
  if (memory.image && memory.image.width) return { wide: memory.image.width, channels: Math.max(Math.floor(memory.image.pixel_bytes / size), 1) };
  let wide = 1;
  while (wide * wide < length) wide *= 2;
  return { wide, channels: 1 };
}

function extent(lists: Float64Array[]): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const list of lists)
    for (const value of list) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return low <= high ? [low, high] : [0, 1];
}

// `shade` gives red, green and blue of the pixel whose elements begin there.
function canvas(label: string, grid: Grid, length: number, shade: (at: number) => [number, number, number]): HTMLElement {
  const pixels = Math.floor(length / grid.channels), high = Math.max(Math.ceil(pixels / grid.wide), 1);
  const made = element("canvas", { width: grid.wide, height: high, role: "img", "aria-label": label });
  const context = made.getContext("2d")!, image = context.createImageData(grid.wide, high);
  for (let i = 0; i < pixels; i++) {
    const [red, green, blue] = shade(i * grid.channels);
    image.data.set([red, green, blue, 255], i * 4);
  }
  context.putImageData(image, 0, 0);
  return element("figure", { class: "grid" }, made, element("figcaption", {}, label));
}

function pictures(memory: Memory, before: Float64Array | null, after: Float64Array | null, grid: Grid): HTMLElement {
  const sides = [before, after].filter((one): one is Float64Array => one !== null);
  const [low, high] = memory.image && memory.element === "u8" ? [0, 255] : extent(sides);
  const gray = (value: number): number => (high > low ? (255 * (value - low)) / (high - low) : 128);
  const drawn = (label: string, values: Float64Array): HTMLElement => canvas(label, grid, values.length, (at) => {
    if (!Number.isFinite(values[at]!)) return [213, 94, 0];
    if (grid.channels < 3) return [gray(values[at]!), gray(values[at]!), gray(values[at]!)];
    return [gray(values[at]!), gray(values[at + 1]!), gray(values[at + 2]!)];
  });
  const parts = [before && drawn("before", before), after && drawn("after", after)];
  if (before && after) {
    const changes = after.map((value, i) => Math.abs(value - before[i]!));
    const [, most] = extent([changes]);
    parts.push(canvas("difference: blue is the largest", grid, after.length, (at) => {
      let worst = 0;
      for (let k = 0; k < grid.channels; k++) {
        const change = changes[at + k]!, same = Object.is(before[at + k], after[at + k]);
        worst = Math.max(worst, same ? 0 : Number.isFinite(change) && most > 0 ? change / most : 1);
      }
      return worst ? [200 * (1 - worst), 215 * (1 - worst) + 60 * worst, 240 - 60 * worst] : [255, 255, 255];
    }));
  }
  return element("div", { class: "grids" }, ...parts);
}

function shownNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(9)));
}

function list(memory: Memory, before: Float64Array | null, after: Float64Array | null): HTMLElement {
  const size = SIZES[memory.element] ?? 1, first = memory.offset / size, length = (after ?? before)!.length;
  const rows: (string | number | null)[][] = [];
  for (let i = 0; i < length && rows.length < 2000; i++) {
    if (before && after && Object.is(before[i], after[i])) continue;
    rows.push([first + i, before ? shownNumber(before[i]!) : null, after ? shownNumber(after[i]!) : null, before && after ? shownNumber(after[i]! - before[i]!) : null]);
  }
  if (!rows.length) for (let i = 0; i < Math.min(length, 100); i++) rows.push([first + i, shownNumber(before![i]!), shownNumber(after![i]!), "0"]);
  return table({ columns: ["element", "before", "after", "difference"], rows, shown: 12, format: (_, value) => (value === null ? "unknown" : String(value)) });
}

function show(memory: Memory): HTMLElement {
  const before = memory.before === null ? null : numbers(memory.before, memory.element);
  const after = memory.after === null ? null : numbers(memory.after, memory.element);
  const heading = element("h4", {}, `Buffer ${memory.buffer}: ${bytes(memory.bytes)} of ${memory.element}` +
    (memory.image ? `, an image of ${count(memory.image.width)} \u00d7 ${count(memory.image.height)}` : ""));
  const why = [memory.before_reason && `Before is not known: ${memory.before_reason}.`, memory.after_reason && `After is not known: ${memory.after_reason}.`]
    .filter(Boolean).map((text) => element("p", { class: "warning" }, clipped(String(text), 400)));
  const length = (after ?? before)?.length ?? 0;
  if (!length) return element("section", { class: "memory" }, heading, ...why);
  let changed = 0;
  if (before && after) for (let i = 0; i < length; i++) changed += Object.is(before[i], after[i]) ? 0 : 1;
  const place = element("div");
  const grid = gridOf(memory, length);
  const wide = element("input", { type: "number", min: 1, max: 16384, value: grid.wide, "aria-label": "Elements in a row" });
  const draw = (): void => {
    const asked = Math.min(Math.max(Math.floor(Number(wide.value)) || grid.wide, 1), 16384);
    if (length <= PICTURE_MOST) fill(place, pictures(memory, before, after, { ...grid, wide: asked }));
  };
  wide.addEventListener("change", draw);
  draw();
  return element("section", { class: "memory" }, heading, ...why,
    memory.shown < memory.bytes ? element("p", { class: "note" }, `${bytes(memory.shown)} from byte ${count(memory.offset)} on are shown.`) : null,
    before && after ? element("p", {}, `${count(changed)} of ${counted(length, "element changes", "elements change")}.`) : null,
    element("label", { class: "note" }, "In a row: ", wide), place, list(memory, before, after));
}

export function showMemories(memories: Memory[], leftOut: number): HTMLElement {
  return element("div", {}, ...memories.map(show),
    memories.length ? null : element("p", { class: "note" }, "The command writes no memory that is known."),
    leftOut ? element("p", { class: "note" }, `${counted(leftOut, "more buffer is", "more buffers are")} not shown.`) : null);
}
