// The reader of traces as a WebAssembly module (cli/studio/reader/reader.c), and the files that it reads. The page's worker calls it, and
// a test in Node.

// Where the module's files are. Synchronous: the module waits.
export interface Files {
  open(name: string): number; // negative: there is none
  size(file: number): number;
  // Fills `out` from `offset` on; how many bytes there were, or -1.
  read(file: number, offset: number, out: Uint8Array): number;
}

export interface Answered {
  status: number; // as an answer of the server
  bytes: Uint8Array; // a message in UTF-8 where status is not 200
}

interface Exports {
  memory: WebAssembly.Memory;
  room(size: number): number;
  answer(): number;
  length(): number;
  open(): number;
  load(): number;
  fill(batches: number): number;
  ask(): number;
}

export class Reader {
  private trap = "";

  private constructor(private readonly module: Exports) {}

  static async load(code: BufferSource, files: Files): Promise<Reader> {
    let memory: WebAssembly.Memory;
    const part = (at: number, size: number): Uint8Array => new Uint8Array(memory.buffer, at >>> 0, size >>> 0);
    const host = {
      open: (name: number, length: number): number => files.open(new TextDecoder().decode(part(name, length))),
      size: (file: number): number => files.size(file),
      read: (file: number, offset: number, out: number, size: number): number => files.read(file, offset, part(out, size)),
    };
    const { instance } = await WebAssembly.instantiate(code, { host });
    const module = instance.exports as unknown as Exports;
    memory = module.memory;
    return new Reader(module);
  }

  open(name: string): Answered {
    return this.call("open", name);
  }

  // Fills the tiles from a file that was kept for that.
  load(name: string): Answered {
    return this.call("load", name);
  }

  ask(request: string): Answered {
    return this.call("ask", request);
  }

  // Reads more events into the tiles; whether there are more.
  fill(batches: number): boolean {
    if (this.trap) return false;
    try {
      return this.module.fill(batches) !== 0;
    } catch (error) {
      this.note(error);
      return false;
    }
  }

  // A module that trapped has lost its state: it is not asked again.
  private note(error: unknown): void {
    this.trap = `The reader stopped at this file (${String((error as Error).message ?? error)}). It may be damaged; tracesmith info FILE reports what is wrong with it`;
  }

  private call(what: "open" | "load" | "ask", text: string): Answered {
    if (!this.trap)
      try {
        const words = new TextEncoder().encode(text);
        const room = this.module.room(words.length) >>> 0;
        if (!room) return failed("Out of memory");
        new Uint8Array(this.module.memory.buffer, room, words.length).set(words);
        const status = this.module[what]();
        const at = this.module.answer() >>> 0;
        return { status, bytes: new Uint8Array(this.module.memory.buffer, at, this.module.length() >>> 0).slice() };
      } catch (error) {
        this.note(error);
      }
    return failed(this.trap);
  }
}

export function failed(message: string, status = 500): Answered {
  return { status, bytes: new TextEncoder().encode(message) };
}
