// Questions in SQL: a box, questions that were asked before, the answer as a table and as a plot.
import { Answer, api } from "../api";
import { copyButton, element, fill, svg } from "../dom";
import { cell, count } from "../format";
import { Panel, command, quoted } from "./panel";
import { failure, waiting } from "./reports";
import { table } from "./table";

const EXAMPLES: [string, string][] = [
  ["Time of each kernel", "SELECT name, count(*) AS count, sum(duration) AS total_ns, max(duration) AS longest_ns\nFROM kernel GROUP BY name ORDER BY total_ns DESC"],
  ["Bytes by direction", "SELECT direction, count(*) AS copies, sum(bytes) AS moved_bytes, sum(duration) AS time_ns\nFROM memcpy GROUP BY direction"],
  ["Calls of the API", "SELECT name, count(*) AS calls, sum(duration) AS total_ns, median(duration) AS median_ns\nFROM api GROUP BY name ORDER BY total_ns DESC"],
  ["What is missing", "SELECT start, duration, lost, reason, text FROM loss"],
  ["Events by kind", "SELECT kind, count(*) AS events FROM events GROUP BY kind ORDER BY events DESC"],
  ["Tables", "SELECT name FROM tracks ORDER BY id"],
];
const STORED = "tracesmith-sql", STORED_MOST = 20;

function stored(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(list) ? list.filter((one): one is string => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function remember(sql: string): void {
  try {
    localStorage.setItem(STORED, JSON.stringify([sql, ...stored().filter((one) => one !== sql)].slice(0, STORED_MOST)));
  } catch {
    // a browser that keeps nothing
  }
}

// The second numeric column over the first, or the first by text.
function plot(answer: Answer): HTMLElement | null {
  const numeric = answer.columns.map((_, i) => i).filter((i) => answer.rows.some((row) => typeof row[i] === "number"));
  const rows = answer.rows.slice(0, 2000);
  if (rows.length < 2 || !numeric.length) return null;
  const isBar = numeric.length === 1 || typeof rows[0]![0] === "string";
  const yColumn = isBar ? numeric[0]! : numeric[1]!, xColumn = isBar ? -1 : numeric[0]!;
  const points = rows.map((row, i) => [xColumn < 0 ? i : row[xColumn], row[yColumn]] as const)
    .filter((point): point is [number, number] => typeof point[0] === "number" && typeof point[1] === "number");
  if (points.length < 2) return null;
  const [x0, x1] = [Math.min(...points.map((one) => one[0])), Math.max(...points.map((one) => one[0]))];
  const [y0, y1] = [Math.min(0, ...points.map((one) => one[1])), Math.max(...points.map((one) => one[1]))];
  const x = (value: number): number => 40 + ((value - x0) / (x1 - x0 || 1)) * 740;
  const y = (value: number): number => 190 - ((value - y0) / (y1 - y0 || 1)) * 170;
  const name = answer.columns[yColumn]!;
  const picture = svg("svg", { viewBox: "0 0 800 210", class: "plot", role: "img", "aria-label": `Plot of ${name}` });
  const width = Math.max(740 / points.length - 1, 1);
  for (const point of points)
    picture.append(isBar ? svg("rect", { x: x(point[0]) * (740 - width) / 740, y: y(point[1]), width, height: 190 - y(point[1]) })
                         : svg("circle", { cx: x(point[0]), cy: y(point[1]), r: 2 }));
  const most = svg("text", { x: 2, y: 24 });
  most.textContent = cell(name, y1);
  picture.append(most);
  return element("figure", {}, picture as unknown as HTMLElement, element("figcaption", {}, `${name}${isBar ? " by row" : ` over ${answer.columns[xColumn]}`}`));
}

export const sql: Panel = {
  id: "sql",
  title: "SQL",
  create(studio, host) {
    const box = element("textarea", { rows: 4, spellcheck: "false", "aria-label": "SQL" });
    const answerHost = element("div");
    const list = element("select", { "aria-label": "Questions" });
    const fillList = (): void => fill(list, element("option", { value: "" }, "Questions\u2026"),
      ...EXAMPLES.map(([name, text]) => element("option", { value: text }, name)),
      ...stored().map((text) => element("option", { value: text }, text.slice(0, 80))));
    box.value = EXAMPLES[0]![1];
    fillList();
    list.addEventListener("change", () => {
      if (list.value) box.value = list.value;
    });
    const run = async (): Promise<void> => {
      const text = box.value;
      fill(answerHost, waiting("Asking\u2026"));
      try {
        const answer = await api.sql(studio.trace, text);
        remember(text);
        fillList();
        const notes = [`${count(answer.rows.length)} ${answer.rows.length === 1 ? "row" : "rows"}`];
        if (answer.more) notes.push("there are more: the command prints all");
        if (answer.truncated) notes.push("the file is damaged: this is the answer of what is readable");
        fill(answerHost, element("p", { class: "note" }, notes.join("; ")), plot(answer),
          table({ columns: answer.columns, rows: answer.rows }));
      } catch (error) {
        fill(answerHost, failure(error));
      }
    };
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run();
    });
    fill(host, element("div", { class: "sql" }, list, box, element("p", { class: "tools" },
      element("button", { type: "button", class: "main", click: () => void run() }, "Run (Ctrl-Enter)"),
      copyButton("Copy the command", () => command(studio, "query", quoted(box.value))))), answerHost);
  },
};
