// The source of a page that no server of ours stands behind (`tracesmith studio --export`): overviews, names and tiles come from the
// reader in a worker, answers of the command from files that were written with the traces. Everything else is refused, with the
// command that answers it.
import { quoted } from "../panels/panel";
import { Limits, Order, TraceFile } from "./worker";

interface Listed {
  version: string;
  traces: TraceFile[];
  limits?: Partial<Limits>;
  answers: Record<string, [number, string]>; // request: status and file
}

type Reply = { id: number; status: number; bytes: Uint8Array };
type Waiting = (reply: { status: number; bytes: Uint8Array }) => void;

function refusal(status: number, error: string): Response {
  return new Response(JSON.stringify({ error }), { status });
}

// The command that answers a request.
function commandFor(request: string, listed: Listed, body: string): string {
  const [path, query] = request.split("?") as [string, string | undefined];
  const [number, what] = path.split("/") as [string, string | undefined];
  const file = quoted(listed.traces[Number(number)]?.file ?? "FILE");
  const parameters = new URLSearchParams(query);
  if (what === "sql") return `tracesmith query ${file} ${quoted(body)}`;
  if (what === "folded") {
    const [from, to] = ["from", "to"].map((name) => (parameters.has(name) ? ` --${name} ${parameters.get(name)}ns` : ""));
    return `tracesmith export --format flamegraph${parameters.has("cpu") ? " --cpu" : ""}${from}${to} -o flame.svg ${file}`;
  }
  if (what === "event") return `tracesmith view ${file}`;
  if (what === "simulate") return `tracesmith simulate ${file} ` + [...parameters].map(([name, value]) => `--${name}${value ? "=" + quoted(value) : ""}`).join(" ");
  if (what === "replay" || what === "recording") return `tracesmith replay --sandbox --all ${file}`;
  if (path === "diff") {
    const names = (which: string): string => (parameters.get(which) ?? "").split(",").map((one) => quoted(listed.traces[Number(one)]?.file ?? "FILE")).join(" ");
    return `tracesmith diff ${names("before")} -- ${names("after")}`;
  }
  if (path === "ranks") return `tracesmith analyze --ranks ${listed.traces.map((trace) => quoted(trace.file)).join(" ")}`;
  return `tracesmith analyze ${file}`;
}

export class StaticSource {
  private readonly worker = new Worker("reader.js");
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  private constructor(private readonly listed: Listed) {
    this.worker.addEventListener("message", (event: MessageEvent<Reply>) => {
      this.waiting.get(event.data.id)?.(event.data);
      this.waiting.delete(event.data.id);
    });
    this.worker.addEventListener("error", (event) => this.fail(`The reader stopped: ${event.message || "reader.js cannot be loaded"}`));
    this.send({ base: document.baseURI, traces: listed.traces, limits: listed.limits ?? {} });
  }

  static async begin(list: string): Promise<StaticSource> {
    const response = await fetch(list);
    if (!response.ok) throw new Error(`${list}: ${response.status} ${response.statusText}`);
    return new StaticSource((await response.json()) as Listed);
  }

  private send(order: Order): void {
    this.worker.postMessage(order);
  }

  private fail(message: string): void {
    for (const done of this.waiting.values()) done({ status: 500, bytes: new TextEncoder().encode(message) });
    this.waiting.clear();
  }

  private ask(trace: number, request: string, signal?: AbortSignal | null): Promise<Response> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => {
        this.send({ cancel: id });
        this.waiting.delete(id);
        reject(new DOMException("Not wanted any more", "AbortError"));
      });
      this.waiting.set(id, ({ status, bytes }) =>
        resolve(status === 200 ? new Response(bytes as BodyInit) : refusal(status, new TextDecoder().decode(bytes))));
      this.send({ id, trace, request });
    });
  }

  // In place of `fetch` of a path of the server.
  async fetch(path: string, options: RequestInit): Promise<Response> {
    const request = path.replace(/^\/api\//, "");
    if (request.split("?")[0] === "traces")
      return new Response(JSON.stringify({
        version: this.listed.version,
        traces: this.listed.traces.map(({ name, file }, id) => ({ id, name, path: file, state: "ready", done: 0, total: null, error: null })),
      }));
    const [, trace, rest] = /^(\d+)\/(overview$|tile\/.*|tiles\?.*|names\?.*)/.exec(request) ?? [];
    if (trace && rest && this.listed.traces[Number(trace)]) return this.ask(Number(trace), rest, options.signal);
    const [samples] = /^\d+\/samples(?=\?)/.exec(request) ?? []; // one picture of all of the trace was stored
    const stored = options.method === "POST" ? undefined : this.listed.answers[samples ?? request];
    if (stored) {
      const response = await fetch(stored[1], { signal: options.signal ?? null });
      return response.ok ? new Response(await response.blob(), { status: stored[0] }) : response;
    }
    const body = typeof options.body === "string" ? options.body : "";
    return refusal(501, `Not available on a static host, which runs no command. This one answers: ${commandFor(request, this.listed, body)}`);
  }
}
