// Tables: sorted by a click or Enter on a heading, cut to what fits, with units.
import { clipped, element } from "../dom";
import { cell, count, title } from "../format";

export type Value = string | number | null;

export interface TableOptions {
  columns: string[];
  rows: Value[][];
  shown?: number; // rows at first
  format?: (column: string, value: Value) => string;
  choose?: (row: Value[]) => void; // a row is clicked
}

const AT_FIRST = 30, MORE = 500;

export function table(options: TableOptions): HTMLElement {
  const { columns } = options;
  const format = options.format ?? cell;
  const numeric = columns.map((_, i) => options.rows.some((row) => typeof row[i] === "number"));
  let rows = options.rows;
  let most = options.shown ?? AT_FIRST;
  let sorted = -1, descending = true;
  const body = element("tbody");
  const rest = element("button", { type: "button", class: "more" });
  const head = element("tr", {}, ...columns.map((column, i) => {
    const heading = element("th", { scope: "col", class: numeric[i] ? "number" : "" },
      element("button", { type: "button" }, title(column)));
    heading.addEventListener("click", () => sort(i));
    return heading;
  }));

  function sort(column: number): void {
    descending = sorted === column ? !descending : numeric[column]!;
    sorted = column;
    rows = [...options.rows].sort((a, b) => compare(a[column]!, b[column]!) * (descending ? -1 : 1));
    [...head.children].forEach((heading, i) =>
      i === column ? heading.setAttribute("aria-sort", descending ? "descending" : "ascending") : heading.removeAttribute("aria-sort"));
    show();
  }

  function show(): void {
    body.replaceChildren(...rows.slice(0, most).map((row) => {
      const made = element("tr", {}, ...row.map((value, i) => {
        const text = format(columns[i]!, value ?? null);
        return element("td", { class: (numeric[i] ? "number" : "") + (value === null ? " unknown" : ""), title: text.length > 80 ? clipped(text, 2000) : "" },
          clipped(text, 160));
      }));
      if (options.choose) {
        made.tabIndex = 0;
        made.className = "choose";
        made.addEventListener("click", () => options.choose!(row));
        made.addEventListener("keydown", (event) => {
          if (event.key === "Enter") options.choose!(row);
        });
      }
      return made;
    }));
    rest.hidden = rows.length <= most;
    rest.textContent = `${count(rows.length - most)} more rows`;
  }

  rest.addEventListener("click", () => {
    most += MORE;
    show();
  });
  show();
  return element("div", { class: "table" }, element("table", {}, element("thead", {}, head), body), rest);
}

function compare(a: Value, b: Value): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1; // unknown is the least
  return typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : a === b ? 0 : 1;
}

// A table of a report: rows with named columns.
export function rowsTable(rows: Record<string, Value>[], choose?: (row: Record<string, Value>) => void): HTMLElement {
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => columns.map((column) => row[column] ?? null));
  return table({ columns, rows: values, choose: choose && ((row) => choose(rows[values.indexOf(row)]!)) });
}
