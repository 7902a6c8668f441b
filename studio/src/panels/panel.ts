// What every panel is: a view of the trace below the timeline.
import { Studio } from "../model";

export interface Panel {
  id: string;
  title: string;
  // Fills the element; called when the panel is opened for a trace the first time, and again for another trace.
  create(studio: Studio, host: HTMLElement): void | Promise<void>;
}

// A file name as the shell needs it, with the command before it.
export function command(studio: Studio, before: string, after = ""): string {
  return `tracesmith ${before} ${studio.overview?.file ?? "FILE"}${after ? " " + after : ""}`;
}

// A word for a POSIX shell.
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}
