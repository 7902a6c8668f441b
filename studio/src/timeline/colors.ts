// Colors of kinds of events: Okabe and Ito's palette, which most color-blind people can distinguish, with the
// lightness of a name.

type Color = [number, number, number];

// By number of the kind (tsmith_kind).
const KINDS: Record<number, Color> = {
  1: [0, 114, 178], // kernel: blue
  2: [230, 159, 0], // memcpy: orange
  3: [240, 200, 90], // memset
  4: [120, 160, 120], // alloc
  5: [120, 160, 120], // free
  6: [86, 180, 233], // api: sky blue
  7: [150, 150, 155], // sync: gray
  8: [180, 180, 190], // event_record
  9: [240, 228, 66], // marker: yellow
  10: [0, 158, 115], // range: green
  11: [204, 121, 167], // collective: pink
  13: [213, 94, 0], // compile: vermilion
  14: [60, 90, 190], // graph_launch
  16: [110, 100, 100], // overhead
  17: [120, 170, 90], // host_function
  18: [110, 140, 160], // sample
  19: [200, 30, 30], // loss
  25: [170, 150, 130], // off_cpu
  26: [140, 120, 190], // driver
};
const OTHER: Color = [140, 140, 150];
const BY_NAME = new Set([1, 6, 10, 17, 9]); // kinds whose names differ in lightness

export function colorOf(kind: number, name: number): Color {
  const base = KINDS[kind] ?? OTHER;
  if (!BY_NAME.has(kind)) return base;
  const step = ((Math.imul(name, 0x9e3779b1) >>> 28) / 15) * 0.5 - 0.2; // -0.2 .. 0.3
  return base.map((part) => Math.round(step < 0 ? part * (1 + step) : part + (255 - part) * step)) as Color;
}

// As one word for a buffer of the graphics card: red in the lowest byte.
export function packedColor(kind: number, name: number): number {
  const [red, green, blue] = colorOf(kind, name);
  return (red | (green << 8) | (blue << 16) | (255 << 24)) >>> 0;
}

// Text on a color: black or white, whichever is easier to read.
export function textOn(kind: number, name: number): string {
  const [red, green, blue] = colorOf(kind, name);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
}

// Kinds and their colors, for a legend.
export function coloredKinds(): [number, string][] {
  return Object.entries(KINDS).map(([kind, [red, green, blue]]) => [Number(kind), `rgb(${red}, ${green}, ${blue})`]);
}
