import { useEffect, useState } from "preact/hooks";
import { Failure } from "./client";
import { readEvents } from "./events";
import { applyChanges, Changes, Node, Pod } from "./model";

// The summary of `berth simulate -o json`.
export interface Summary {
  seconds: number; created: number; placed: number; succeeded: number; failed: number; deleted: number; bound: number; pending: number; rejections: number; preemptors: number; victims: number;
  cascades: number; cascadeDepth: number; latencyP50: number; latencyP99: number; lastBound: number; lastVictim: number; events: number;
  reasons?: { message: string; pods: number }[]; failedExpectations?: string[]; violation?: string;
}
export interface Line { at: number; actor: string; action: string; object: string; text: string } // at: in nanoseconds
export interface Frame extends Changes { at: number; lines?: Line[] } // at: in seconds
export interface Request { scenario: string; seed: string; cluster: boolean; dump: string }
export interface Run { frames: Frame[]; lines: Line[]; summary?: Summary; seconds: number; failure?: Failure; running: boolean }

const none: Run = { frames: [], lines: [], seconds: 0, running: false };
const showInterval = 200; // between two updates of the view while the simulation runs, in milliseconds

// simulate runs a simulation on the server and shows its states as they arrive.
export async function simulate(r: Request, show: (run: Run) => void, signal: AbortSignal) {
  const frames: Frame[] = [], lines: Line[] = [];
  let last = 0, summary: Summary | undefined, seconds = 0, failure: Failure | undefined;
  const body = JSON.stringify({ scenario: r.scenario, dump: r.dump, cluster: r.cluster, seed: r.seed === "" ? undefined : Number(r.seed) });
  show({ ...none, running: true });
  try {
    await readEvents("/ui/api/simulate", { method: "POST", body, signal, headers: { "Content-Type": "application/json" } }, (e) => {
      const data = JSON.parse(e.data);
      if (e.name === "failure") failure = new Failure(data.code, data.message, data.line ?? 0);
      else if (e.name === "result") ({ summary, seconds } = data);
      else {
        frames.push(data);
        for (const l of data.lines ?? []) lines.push(l);
        if (Date.now() - last > showInterval) {
          last = Date.now();
          show({ frames, lines, seconds: data.at, running: true });
        }
      }
    });
    if (!summary && !failure) failure = new Failure(0, "the simulation ended early: the connection was lost");
  } catch (e) {
    if (signal.aborted) return;
    failure = e instanceof Failure ? e : new Failure(0, String(e));
  }
  show({ frames, lines, summary, failure, seconds: seconds || (frames[frames.length - 1]?.at ?? 0), running: false });
}

// useSimulations runs simulations one after another, because a user may run one at a time.
export function useSimulations(requests: Request[]): Run[] {
  const [runs, setRuns] = useState<Run[]>([]);
  const key = JSON.stringify(requests);
  useEffect(() => {
    const stop = new AbortController();
    setRuns(requests.map(() => none));
    void (async () => {
      for (let i = 0; i < requests.length && !stop.signal.aborted; i++) {
        await simulate(requests[i]!, (run) => { if (!stop.signal.aborted) setRuns((old) => old.map((o, j) => j === i ? run : o)); }, stop.signal);
      }
    })();
    return () => stop.abort();
  }, [key]);
  return runs.length === requests.length ? runs : requests.map(() => none);
}

// Playback is the state of a simulation at one of its frames.
export class Playback {
  nodes = new Map<string, Node>();
  pods = new Map<string, Pod>();
  private shown = -1;

  constructor(private readonly frames: Frame[]) {}

  // seek moves to a frame. A move back starts again from the first one.
  seek(frame: number) {
    if (frame < this.shown) {
      this.nodes.clear();
      this.pods.clear();
      this.shown = -1;
    }
    while (this.shown < Math.min(frame, this.frames.length - 1)) applyChanges(this.nodes, this.pods, this.frames[++this.shown]!);
  }
}

// frameAt returns the index of the last frame that is not after a time, at least 0.
export function frameAt(frames: Frame[], seconds: number): number {
  let low = 0, high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (frames[middle]!.at <= seconds) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

// formatSeconds writes virtual time as durations of scenarios are written: 1m30s, 10.003s.
export function formatSeconds(n: number): string {
  const s = Math.round(n * 1000) / 1000, h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60), rest = Math.round((s % 60) * 1000) / 1000;
  return (h ? h + "h" : "") + (m ? m + "m" : "") + (rest || !(h || m) ? rest + "s" : "");
}

const dumps = new Map<string, { name: string; text: string }>();

// keepDump keeps a file in this tab and returns its name in URLs: a part of its SHA-256.
export async function keepDump(file: File): Promise<string> {
  const data = await file.arrayBuffer();
  const digest = [...new Uint8Array(await crypto.subtle.digest("SHA-256", data))].map((b) => b.toString(16).padStart(2, "0")).join("").slice(0, 16);
  dumps.set(digest, { name: file.name, text: new TextDecoder().decode(data) });
  return digest;
}

export function keptDump(digest: string): { name: string; text: string } | undefined { return dumps.get(digest); }
