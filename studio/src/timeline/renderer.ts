// Draws the rectangles of tiles: by a graphics card with WebGL2, each tile uploaded once and moved by two numbers, or as a bitmap that
// is filled here. Text and marks are drawn on a second canvas above, by overlay.ts.
import { element } from "../dom";
import { Tile, WORDS } from "./tiles";

// Where a tile is on the screen, in CSS pixels.
export interface Place {
  x: number;
  width: number;
  y: number;
  height: number; // of all lanes
  lanes: number;
  gap: number; // px between neighbors, for single events
  clipFrom: number; // the part of the screen that it may cover
  clipTo: number;
}

export interface Renderer {
  readonly name: string;
  begin(width: number, height: number, scale: number): void;
  draw(tile: Tile, place: Place): void; // rectangles in order of their begin
  end(): void; // of the frame
  forget(tile: Tile): void;
}

const VERTEX = `#version 300 es
in vec4 rect; in vec4 color;
uniform vec2 screen; uniform vec4 place; uniform vec4 more; // x width y height; lanes clipFrom clipTo gap
out vec4 shade;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1 & 1);
  float from = place.x + rect.x * place.y, to = max(place.x + rect.y * place.y, from + 1.0);
  if (to - from > 3.0 && rect.y < 1.0) to -= more.w;
  from = clamp(from, more.y, more.z); to = clamp(to, more.y, more.z);
  float lane = place.w / more.x, bottom = place.z + (rect.z + 1.0) * lane, top = bottom - rect.w * lane;
  vec2 at = vec2(mix(from, to, corner.x), mix(top, bottom, corner.y)) / screen * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, 0.0, 1.0);
  shade = color;
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 shade; out vec4 result;
void main() { result = shade; }`;

interface Uploaded {
  vertices: WebGLVertexArrayObject;
  buffer: WebGLBuffer;
}

const CORNERS = 4;

// Four vertices for each rectangle, which are joined to two triangles by a list of indices that all tiles share. One instance for
// each rectangle would need a quarter of the memory, but GL in software draws every instance on its own, which takes ten times as long.
class GlRenderer implements Renderer {
  readonly name = "WebGL2";
  private readonly indices: WebGLBuffer;
  private indexed = 0; // rectangles that have indices
  private readonly screen: WebGLUniformLocation;
  private readonly place: WebGLUniformLocation;
  private readonly more: WebGLUniformLocation;

  constructor(private readonly gl: WebGL2RenderingContext, private readonly canvas: HTMLCanvasElement) {
    const program = gl.createProgram()!;
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "rect");
    gl.bindAttribLocation(program, 1, "color");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "no program");
    gl.useProgram(program);
    this.indices = gl.createBuffer()!;
    this.screen = gl.getUniformLocation(program, "screen")!;
    this.place = gl.getUniformLocation(program, "place")!;
    this.more = gl.getUniformLocation(program, "more")!;
  }

  begin(width: number, height: number, scale: number): void {
    const { gl, canvas } = this;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.screen, width, height);
  }

  // Indices for as many rectangles as a tile has. A vertex array is bound, which keeps the buffer.
  private bindIndices(count: number): void {
    const { gl } = this;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.indices);
    if (count <= this.indexed) return;
    this.indexed = Math.max(count, 2048);
    const list = new Uint32Array(this.indexed * 6);
    for (let i = 0; i < this.indexed; i++) list.set([0, 1, 2, 2, 1, 3].map((corner) => i * CORNERS + corner), i * 6);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, list, gl.STATIC_DRAW);
  }

  private upload(tile: Tile): Uploaded {
    const { gl } = this;
    const uploaded = { vertices: gl.createVertexArray()!, buffer: gl.createBuffer()! };
    const corners = new Float32Array(tile.count * CORNERS * WORDS);
    // As integers: a color that is read as a number with a point may change.
    const from = new Uint32Array(tile.rects.buffer, tile.rects.byteOffset, tile.count * WORDS), to = new Uint32Array(corners.buffer);
    for (let i = 0; i < tile.count * CORNERS; i++) {
      const rect = Math.floor(i / CORNERS) * WORDS;
      for (let word = 0; word < WORDS; word++) to[i * WORDS + word] = from[rect + word]!;
    }
    gl.bindVertexArray(uploaded.vertices);
    this.bindIndices(tile.count);
    gl.bindBuffer(gl.ARRAY_BUFFER, uploaded.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, WORDS * 4, 0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, WORDS * 4, 16);
    tile.drawn = uploaded;
    return uploaded;
  }

  draw(tile: Tile, place: Place): void {
    if (!tile.count) return;
    const { gl } = this;
    const uploaded = (tile.drawn as Uploaded | null) ?? this.upload(tile);
    gl.bindVertexArray(uploaded.vertices);
    gl.uniform4f(this.place, place.x, place.width, place.y, place.height);
    gl.uniform4f(this.more, place.lanes, place.clipFrom, place.clipTo, place.gap);
    gl.drawElements(gl.TRIANGLES, tile.count * 6, gl.UNSIGNED_INT, 0);
  }

  end(): void {
    // the browser shows what was drawn
  }

  forget(tile: Tile): void {
    const uploaded = tile.drawn as Uploaded | null;
    if (!uploaded) return;
    this.gl.deleteBuffer(uploaded.buffer);
    this.gl.deleteVertexArray(uploaded.vertices);
    tile.drawn = null;
  }
}

// The pixels of a row of lanes are filled here, without GL. Where GL is in software this takes a tenth of its time: nothing is
// sent to another process, and no picture is read back from it.
class BitmapRenderer implements Renderer {
  readonly name = "bitmap";
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private readonly covered = new Int32Array(256); // by lane: up to where it has pixels
  private scale = 1;

  constructor(private readonly context: CanvasRenderingContext2D, private readonly canvas: HTMLCanvasElement) {}

  begin(width: number, height: number, scale: number): void {
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    this.scale = scale;
    if (!this.image || this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.image = this.context.createImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else this.pixels.fill(0);
  }

  draw(tile: Tile, place: Place): void {
    const { rects, count } = tile, { scale, covered } = this;
    const colors = new Uint32Array(rects.buffer, rects.byteOffset, rects.length);
    const lane = place.height / place.lanes;
    const least = Math.round(place.clipFrom * scale), most = Math.round(place.clipTo * scale);
    covered.fill(-1);
    for (let i = 0; i < count; i++) {
      const at = i * WORDS, which = rects[at + 2]!;
      const from = place.x + rects[at]! * place.width;
      if (from >= place.clipTo) continue;
      let to = Math.max(place.x + rects[at + 1]! * place.width, from + 1);
      if (to - from > 3 && rects[at + 1]! < 1) to -= place.gap;
      const left = Math.max(Math.round(from * scale), least), right = Math.min(Math.round(to * scale), most);
      if (right <= covered[which]! || right <= left) continue; // nothing of it would be seen
      covered[which] = right;
      const bottom = place.y + (which + 1) * lane;
      this.fill(left, right, Math.round((bottom - rects[at + 3]! * lane) * scale), Math.round(bottom * scale), colors[at + 4]!);
    }
  }

  private fill(left: number, right: number, top: number, bottom: number, color: number): void {
    const { pixels, canvas } = this, wide = canvas.width;
    const end = Math.min(bottom, canvas.height) * wide;
    for (let row = Math.max(top, 0) * wide; row < end; row += wide)
      if (right - left > 24) pixels.fill(color, row + left, row + right);
      else for (let at = row + left; at < row + right; at++) pixels[at] = color;
  }

  end(): void {
    if (this.image) this.context.putImageData(this.image, 0, 0);
  }

  forget(): void {
    // nothing is kept of a tile
  }
}

// What says that GL is done by the processor.
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

// Whether the graphics card draws. Asking takes longer than a frame: not before the first picture.
export function hasGraphicsCard(): boolean {
  const gl = element("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const name = about ? String(gl.getParameter(about.UNMASKED_RENDERER_WEBGL)) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(name);
}

export function makeRenderer(canvas: HTMLCanvasElement, withGl: boolean): Renderer {
  const gl = withGl ? canvas.getContext("webgl2", { antialias: false, alpha: true, preserveDrawingBuffer: true }) : null;
  if (gl) return new GlRenderer(gl, canvas);
  const context = canvas.getContext("2d", { willReadFrequently: true }); // in the memory of this process
  if (!context) throw new Error("This browser can draw neither with WebGL2 nor on a canvas");
  return new BitmapRenderer(context, canvas);
}
