// SPDX-License-Identifier: Apache-2.0
// Asks the reader for browsers in Node: reads lines "FILE REQUEST" from standard input, REQUEST "open" or one of the page, and writes
// "STATUS LENGTH\n" and the bytes of each answer. FILE is opened once, and its tiles are filled before the first other request.
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "fs";
import { Files, Reader } from "../../studio/src/reader/module";

const files: Files = {
  open: (name) => {
    try {
      return openSync(name, "r");
    } catch {
      return -1;
    }
  },
  size: (file) => fstatSync(file).size,
  read: (file, offset, out) => readSync(file, out, 0, out.length, offset),
};

function put(status: number, bytes: Uint8Array): void {
  writeSync(1, `${status} ${bytes.length}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

async function main(): Promise<void> {
  const code = readFileSync(process.argv[2]!);
  const lines = readFileSync(0, "utf8").split("\n").filter(Boolean);
  let name = "";
  let reader: Reader | null = null;
  for (const line of lines) {
    const [file, request] = line.split(" ") as [string, string];
    if (file !== name) {
      reader = await Reader.load(code, files);
      name = file;
    }
    if (request === "open") {
      const answer = reader!.open(file);
      put(answer.status, answer.bytes);
      while (answer.status === 200 && reader!.fill(64)) continue;
    } else {
      const answer = reader!.ask(request);
      put(answer.status, answer.bytes);
    }
  }
  closeSync(0);
}

void main();
