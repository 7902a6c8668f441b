// The worker of a page without a server: it reads traces and answers the page's requests for overviews, names and tiles. static.ts starts it.
import { Answered, failed, Reader } from "./module";
import { Parts, RemoteFiles } from "./ranges";

export interface TraceFile {
  name: string;
  file: string;
  detail: string | null;
  parts?: Parts; // of the file: what is read first
}

// In bytes. traces.json may have others.
export interface Limits {
  filled: number; // of a trace without detail: those of a larger one are not all fetched
  detail: number; // of a detail that is read before the first picture; a larger one is read after it
}
const LIMITS: Limits = { filled: 1 << 29, detail: 4 << 20 };

// From the page: first the traces, then requests; `cancel` takes back one that is not wanted any more.
export type Order = { base: string; traces: TraceFile[]; limits: Partial<Limits> } | { id: number; trace: number; request: string } | { cancel: number };

const BATCHES_AT_ONCE = 4; // between two looks at the requests

interface Open {
  reader: Reader | null;
  failure: Answered | null;
  detail: string | null; // not read yet
  isSeen: boolean; // tiles were asked for
  isFilling: boolean;
  isWithout: boolean; // there is no detail, and the trace is too large for making it here
}

const queue: { id: number; trace: number; request: string }[] = [];
const opened = new Map<number, Open>();
let files: RemoteFiles;
let traces: TraceFile[] = [];
let limits = LIMITS;
let code: Promise<ArrayBuffer>;
let isRunning = false;

async function openTrace(number: number): Promise<Open> {
  const known = opened.get(number);
  if (known) return known;
  const trace = traces[number]!;
  const open: Open = { reader: null, failure: null, detail: trace.detail, isSeen: false, isFilling: false, isWithout: false };
  opened.set(number, open);
  try {
    open.reader = await Reader.load(await code, files);
    if (trace.parts) files.preload(trace.file, trace.parts);
    const answer = open.reader.open(trace.file);
    if (answer.status !== 200) open.failure = answer;
    else if (!trace.detail || sizeOf(trace.detail) <= limits.detail) readDetail(open, trace);
  } catch (error) {
    open.failure = failed(String((error as Error).message));
  }
  return open;
}

// What was kept of the tiles; else they are filled from the events, where these are not too many to be fetched.
function readDetail(open: Open, trace: TraceFile): void {
  const { detail } = open;
  open.detail = null;
  if (detail && open.reader!.load(detail).status === 200) return;
  open.isWithout = sizeOf(trace.file) > limits.filled;
  open.isFilling = !open.isWithout;
}

// The answer of the reader, which does not know that nothing more will come. A quote in a name would be escaped.
function answer(open: Open, request: string): Answered {
  const answered = open.failure ?? open.reader!.ask(request);
  if (request !== "overview" || !open.isWithout || answered.status !== 200) return answered;
  const text = new TextDecoder().decode(answered.bytes).replace('"detail":"building"', '"detail":"absent"');
  return { ...answered, bytes: new TextEncoder().encode(text) };
}

function sizeOf(name: string): number {
  const file = files.open(name);
  return file < 0 ? Infinity : files.size(file);
}

// Lets messages come in.
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function run(): Promise<void> {
  isRunning = true;
  for (;;) {
    const next = queue.shift();
    if (next) {
      const open = await openTrace(next.trace);
      const { status, bytes } = answer(open, next.request);
      postMessage({ id: next.id, status, bytes });
      open.isSeen ||= next.request.startsWith("tile");
    } else {
      const unread = [...opened].find(([, open]) => open.detail && open.isSeen && !open.failure);
      const filling = [...opened.values()].find((open) => open.isFilling);
      if (unread) readDetail(unread[1], traces[unread[0]]!);
      else if (filling) filling.isFilling = filling.reader!.fill(BATCHES_AT_ONCE);
      else break;
    }
    await pause();
  }
  isRunning = false;
}

addEventListener("message", (event: MessageEvent<Order>) => {
  const order = event.data;
  if ("base" in order) {
    files = new RemoteFiles(order.base);
    traces = order.traces;
    limits = { ...LIMITS, ...order.limits };
    code = fetch(new URL("reader.wasm", order.base)).then((response) => {
      if (!response.ok) throw new Error(`reader.wasm: ${response.status} ${response.statusText}`);
      return response.arrayBuffer();
    });
    code.catch(() => undefined); // said where it is used
  } else if ("cancel" in order) {
    const at = queue.findIndex(({ id }) => id === order.cancel);
    if (at >= 0) queue.splice(at, 1);
  } else {
    queue.push(order);
    if (!isRunning) void run();
  }
});
