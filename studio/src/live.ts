// A trace that is still being recorded: asks the server twice a second what came, follows the end of the timeline, and says how far behind
// the page is. When the recording has ended, the page is that of an ordinary trace.
import { api, LiveState, ServerError } from "./api";
import { copyButton, element, fill } from "./dom";
import { count, duration } from "./format";
import { Studio } from "./model";
import { Timeline } from "./timeline/timeline";

const EVERY = 500, HIDDEN = 3000, SLOWEST = 10000; // ms between two requests; of a hidden page; while the server does not answer
const SPAN = 10e9; // ns that are seen at first
const QUIET = 2e9; // ns without an event before the page reports it

const WORDS: Record<LiveState["state"], string> = {
  recording: "Recording", ended: "The recording has ended; this is the finished trace", stopped: "The recording stopped",
  truncated: "The file was truncated", replaced: "The file was replaced", failed: "The file cannot be read", none: "",
};

export class Live {
  state: LiveState | null = null;
  isFollowing = true;
  rate: number | null = null; // events per second between the last two answers
  failure = "";
  private span: number | null = SPAN; // ns that are followed; null: the whole trace
  private isMoving = false;
  private last: { at: number; events: number } | null = null;
  private trace = -1; // that is asked for
  private of = -1; // trace that `state` is about

  constructor(private readonly studio: Studio, private readonly timeline: Timeline) {
    studio.subscribe(["trace"], () => this.begin());
    studio.subscribe(["view"], () => this.look());
  }

  get isRecording(): boolean {
    return this.state?.state === "recording";
  }

  // Goes to the end and stays there; or stays where the page is.
  toggle(): void {
    this.isFollowing = !this.isFollowing;
    if (this.isFollowing) this.follow();
    this.studio.tell("live");
  }

  private begin(): void {
    const { studio } = this;
    if (this.of !== studio.trace && this.state) {
      this.state = null;
      studio.tell("live");
    }
    if (!studio.overview?.live || this.trace === studio.trace) return;
    this.trace = studio.trace;
    this.state = this.last = null;
    this.isFollowing = !studio.isPlaced;
    void this.ask(studio.trace);
  }

  // One request at a time: the next is sent when the answer to the last has come, however slow the browser is.
  private async ask(trace: number): Promise<void> {
    let seen = 0, nap = EVERY;
    while (this.studio.trace === trace) {
      try {
        const answer = await api.live(trace, seen);
        if (this.studio.trace !== trace) break;
        seen = answer.revision;
        nap = document.hidden ? HIDDEN : EVERY;
        this.failure = "";
        this.take(answer);
        if (isOver(answer)) break;
      } catch (error) {
        if (error instanceof ServerError) nap = SLOWEST;
        this.failure = "The server does not answer.";
        this.studio.tell("live");
        nap = Math.min(nap * 2, SLOWEST);
      }
      await new Promise((resolve) => setTimeout(resolve, nap));
    }
    if (this.trace === trace) this.trace = -1;
  }

  private take(answer: LiveState): void {
    const { studio } = this;
    const isAnew = this.state !== null && answer.generation !== this.state.generation;
    const now = performance.now();
    if (this.last && now > this.last.at) this.rate = ((answer.totals.events - this.last.events) * 1000) / (now - this.last.at);
    this.last = { at: now, events: answer.totals.events };
    this.state = answer;
    this.of = studio.trace;
    if (answer.overview) {
      const shift = studio.exchange(answer.overview);
      if (isAnew) studio.renew();
      else {
        this.timeline.grow(shift ? undefined : answer.changed);
        studio.tell("detail");
      }
      if (this.isFollowing) this.follow();
    }
    studio.tell("live");
  }

  private follow(): void {
    const end = this.studio.overview?.duration ?? 1;
    const length = this.span === null ? end : Math.min(this.span, end);
    this.isMoving = true;
    this.studio.setView(end - length, end + length * 0.02);
    this.isMoving = false;
  }

  // The user has moved: as long as the end is in sight it is followed.
  private look(): void {
    if (this.isMoving || !this.isRecording) return;
    const { from, to } = this.studio.view;
    const wasFollowing = this.isFollowing;
    this.isFollowing = to >= this.studio.overview!.duration;
    if (this.isFollowing) this.span = from <= 0 ? null : to - from;
    if (wasFollowing !== this.isFollowing) this.studio.tell("live");
  }
}

// Nothing more will come: what was opened is what there is.
function isOver(state: LiveState): boolean {
  return state.state !== "recording" && (state.generation > 0 || state.state === "replaced" || state.state === "failed");
}

// How far the page is behind, and since when nothing came.
export function lag(state: LiveState): string {
  const parts = [];
  if (state.behind_ns !== null) parts.push(`${duration(Math.max(state.behind_ns, 0))} behind`);
  if (state.quiet_ns > QUIET) parts.push(`no event for ${duration(Math.round(state.quiet_ns / 1e9) * 1e9)}`);
  if (state.catching_up) parts.push("adding up events");
  return parts.join(", ");
}

// The line below the bar.
export function makeLiveBar(studio: Studio, live: Live): HTMLElement {
  const said = element("strong", { role: "status" }), facts = element("span", { class: "said" });
  const follow = element("button", { type: "button", title: "key l", click: () => live.toggle() }, "Follow");
  const message = element("span", {}), tools = element("span", { class: "tools" });
  const bar = element("section", { class: "live", "aria-label": "Recording", hidden: true }, element("span", { class: "dot", "aria-hidden": "true" }), said, facts, follow, message, tools);
  studio.subscribe(["live", "trace"], () => {
    const { state } = live;
    bar.hidden = !state;
    if (!state) return;
    bar.dataset.state = state.state;
    if (said.textContent !== WORDS[state.state]) said.textContent = WORDS[state.state];
    const rate = live.rate === null ? "" : `${count(Math.round(live.rate))} events/s`;
    facts.textContent = live.failure || (live.isRecording ? [lag(state), rate].filter(Boolean).join(", ") : "");
    follow.hidden = !live.isRecording;
    follow.setAttribute("aria-pressed", String(live.isFollowing));
    if (message.textContent === (state.message ?? "")) return;
    message.textContent = state.message ?? "";
    const line = /tracesmith recover .*$/.exec(state.message ?? "")?.[0];
    fill(tools, line ? copyButton("Copy the command", () => line) : null);
  });
  return bar;
}

// What a panel is about while more is recorded. `made` is called when a panel is filled, `show` when it is seen.
export function makeNote(studio: Studio, again: () => void): { host: HTMLElement; made: (id: string) => void; show: (id: string) => void } {
  const upTo = new Map<string, number>();
  const text = element("span", {}), button = element("button", { type: "button", click: again }, "Read again");
  const host = element("p", { class: "upto", hidden: true }, text, " ", button);
  let shown = "";
  const update = (): void => {
    host.hidden = !studio.live?.isRecording || shown === "live";
    if (!host.hidden) text.textContent = `The recording goes on. This panel has what was recorded up to ${duration(upTo.get(shown) ?? 0)}.`;
  };
  studio.subscribe(["live"], update);
  return {
    host,
    made: (id) => upTo.set(id, studio.overview?.duration ?? 0),
    show: (id) => {
      shown = id;
      update();
    },
  };
}
