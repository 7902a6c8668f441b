// The flame graph of what launches work: width is device time; or of CPU samples: width is CPU time. Of all of the trace or of the chosen
// range. Top-down from the callers, or bottom-up from what was launched.
import { api } from "../api";
import { clipped, copyButton, element, fill } from "../dom";
import { duration, share } from "../format";
import { colorOf, textOn } from "../timeline/colors";
import type { Span } from "../model";
import { Panel, command } from "./panel";
import { failure, waiting } from "./reports";
import { table } from "./table";

interface FlameNode {
  name: string;
  total: number;
  self: number;
  children: Map<string, FlameNode>;
  parent: FlameNode | null;
}

const ROW = 19, LEAST = 1; // px

function node(name: string, parent: FlameNode | null): FlameNode {
  return { name, total: 0, self: 0, children: new Map(), parent };
}

// "a;b;c 42" per line: a calls b calls c.
export function parseFolded(text: string, bottomUp: boolean): FlameNode {
  const root = node("all", null);
  for (const line of text.split("\n")) {
    const space = line.lastIndexOf(" ");
    const value = Number(line.slice(space + 1));
    if (space < 0 || !Number.isFinite(value)) continue;
    const path = line.slice(0, space).split(";");
    if (bottomUp) path.reverse();
    let at = root;
    at.total += value;
    for (const name of path) {
      let next = at.children.get(name);
      if (!next) at.children.set(name, (next = node(name, at)));
      next.total += value;
      at = next;
    }
    at.self += value;
  }
  return root;
}

function hash(text: string): number {
  let value = 0;
  for (let i = 0; i < text.length; i++) value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0;
  return value >>> 0;
}

function totals(root: FlameNode): [string, number, number][] {
  const sums = new Map<string, [number, number]>();
  const visit = (at: FlameNode, seen: Set<string>): void => {
    const sum = sums.get(at.name) ?? [0, 0];
    if (!seen.has(at.name)) sum[0] += at.total; // recursion counts once
    sum[1] += at.self;
    sums.set(at.name, sum);
    const below = seen.has(at.name) ? seen : new Set(seen).add(at.name);
    for (const child of at.children.values()) visit(child, below);
  };
  for (const child of root.children.values()) visit(child, new Set());
  return [...sums].map(([name, [total, self]]) => [name, total, self] as [string, number, number]).sort((a, b) => b[1] - a[1]);
}

export const flame: Panel = {
  id: "flame",
  title: "Flame graph",
  async create(studio, host) {
    fill(host, waiting("Adding up call paths\u2026"));
    const hasSamples = Boolean(studio.overview?.samples);
    let text = "", cpu = false, asked = 0;
    try {
      text = await api.folded(studio.trace);
      if (hasSamples && !text.trim()) text = await api.folded(studio.trace, (cpu = true));
    } catch (error) {
      fill(host, failure(error));
      return;
    }
    let bottomUp = false, ofRange = false;
    let root = parseFolded(text, bottomUp), focus = root;
    // The part of the trace that is added up; null: all of it.
    const part = (): Span | null => {
      const chosen = ofRange ? studio.range : null;
      return chosen && { from: Math.max(Math.floor(chosen.from), 0), to: Math.max(Math.ceil(chosen.to), 1) };
    };
    const options = (): string => {
      const chosen = part();
      return (cpu ? " --cpu" : "") + (chosen ? ` --from ${chosen.from}ns --to ${chosen.to}ns` : "");
    };
    let search = "";
    const picture = element("div", { class: "flame", role: "tree", "aria-label": "Flame graph", tabindex: 0 });
    const said = element("p", { class: "note", role: "status" });
    const tableHost = element("div");

    const draw = (): void => {
      const width = picture.clientWidth || 800;
      const boxes: HTMLElement[] = [];
      let deepest = 0, found = 0;
      const place = (at: FlameNode, x: number, wide: number, depth: number): void => {
        if (wide < LEAST) return;
        deepest = Math.max(deepest, depth);
        const isFound = search !== "" && at.name.toLowerCase().includes(search);
        if (isFound) found++;
        const box = element("button", { type: "button", class: "box" + (isFound ? " found" : ""), role: "treeitem", "aria-level": depth + 1,
          title: `${clipped(at.name)}\n${duration(at.total)}, ${share(at.total / root.total)} of all; itself ${duration(at.self)}` },
          wide > 30 ? clipped(at.name, Math.floor(wide / 6.5)) : "");
        const kind = at.children.size ? 10 : 1, name = hash(at.name);
        const [red, green, blue] = colorOf(kind, name);
        box.style.backgroundColor = `rgb(${red},${green},${blue})`;
        box.style.color = textOn(kind, name);
        box.style.left = `${x}px`;
        box.style.top = `${depth * ROW}px`;
        box.style.width = `${Math.max(wide - 0.5, 0.5)}px`;
        box.addEventListener("click", () => {
          focus = at === focus ? at.parent ?? root : at;
          draw();
        });
        boxes.push(box);
        let next = x;
        for (const child of [...at.children.values()].sort((a, b) => b.total - a.total)) {
          place(child, next, (wide * child.total) / at.total, depth + 1);
          next += (wide * child.total) / at.total;
        }
      };
      if (focus.total > 0) place(focus, 0, width, 0);
      picture.style.height = `${(deepest + 1) * ROW + 4}px`;
      picture.replaceChildren(...boxes);
      said.textContent = focus.total ? `${clipped(focus.name, 100)}: ${duration(focus.total)}, ${share(focus.total / root.total)} of ${duration(root.total)}` +
        (search ? `; ${found} boxes match` : "") : cpu ? "There are no CPU samples." : "No work has a call path.";
    };
    const reload = async (): Promise<void> => {
      const number = ++asked;
      said.className = "note waiting";
      try {
        const got = await api.folded(studio.trace, cpu, part());
        if (number !== asked) return;
        text = got;
        said.className = "note";
        remake();
      } catch (error) {
        if (number !== asked) return;
        said.className = "note";
        said.textContent = "";
        fill(picture);
        fill(tableHost, failure(error));
      }
    };
    const remake = (): void => {
      root = focus = parseFolded(text, bottomUp);
      fill(tableHost, element("h4", {}, "Functions"), table({ columns: ["function", "total_ns", "self_ns"], rows: totals(root) }));
      draw();
    };
    const searchBox = element("input", { type: "search", placeholder: "Search functions", "aria-label": "Search functions" });
    searchBox.addEventListener("input", () => {
      search = searchBox.value.toLowerCase();
      draw();
    });
    const turn = element("button", { type: "button", "aria-pressed": "false" }, "Bottom-up");
    turn.addEventListener("click", () => {
      bottomUp = !bottomUp;
      turn.setAttribute("aria-pressed", String(bottomUp));
      remake();
    });
    const source = element("button", { type: "button", "aria-pressed": String(cpu) }, "CPU samples");
    source.hidden = !hasSamples;
    source.addEventListener("click", () => {
      cpu = !cpu;
      source.setAttribute("aria-pressed", String(cpu));
      void reload();
    });
    const within = element("button", { type: "button", "aria-pressed": "false" }, "Only the range");
    within.disabled = !studio.range;
    within.addEventListener("click", () => {
      ofRange = !ofRange;
      within.setAttribute("aria-pressed", String(ofRange));
      void reload();
    });
    studio.subscribe(["range"], () => {
      within.disabled = !studio.range && !ofRange;
      if (ofRange) void reload();
    }, host);
    fill(host, element("p", { class: "tools" }, searchBox, turn, source, within,
        element("button", { type: "button", click: () => { focus = root; draw(); } }, "Whole"),
        copyButton("Copy the command", () => command(studio, `export --format flamegraph${options()} -o flame.svg`))),
      said, picture, tableHost);
    new ResizeObserver(draw).observe(host);
    remake();
  },
};
