import type { Coloring } from "./colors";
import type { Pod } from "./model";

// The output of `berth drain --what-if -o json`.
interface Block { kind: string; budget?: string; reason: string; permanent: boolean; field?: string; clearedBy?: string }
export interface PreviewPod {
  pod: string; owner?: string; from: string; to?: string; outcome: string; round?: number; surged?: boolean; uncertain?: boolean; deleted?: boolean;
  firstBlock?: Block; block?: Block; pendingReason?: string; permanent?: boolean; field?: string; suggestions?: string[];
}
export interface Preview {
  nodes: string[]; rounds: number; pods: PreviewPod[]; exitCode: number;
  skipped?: { pod: string; node: string; reason: string }[]; preempted?: { pod: string; node: string; preemptor: string }[];
}

// stays reports whether a pod does not move: it is not evicted, its replacement has no node, or it does not end.
export function stays(p: PreviewPod): boolean {
  return p.outcome === "blocked" || p.outcome === "pending" || (p.outcome === "terminating" && !p.deleted);
}

export function whyNotMoved(p: PreviewPod): string {
  if (p.outcome === "pending") return "Its replacement has no node: " + (p.pendingReason ?? "") + (p.permanent && p.field ? ` No node could run it; change ${p.field}.` : "");
  if (p.outcome === "terminating") return "It is terminating and not deleted yet.";
  const b = p.block;
  if (!b) return "It is not evicted.";
  return (b.budget ? `Budget ${b.budget}: ` : "") + b.reason + (b.permanent ? `. To allow it, change ${b.field || "the object"}.` : b.clearedBy ? `. Until: ${b.clearedBy}.` : "");
}

// podsAfter returns the pods by node after a round. After the last round, preempted pods are removed, too.
export function podsAfter(pods: Map<string, Pod>, x: Preview | null, round: number): Map<string, Pod[]> {
  const moves = new Map((x?.pods ?? []).filter((p) => p.round && p.round <= round).map((p) => [p.pod, p]));
  const preempted = new Set(x && round === x.rounds ? (x.preempted ?? []).map((p) => p.pod) : []);
  const out = new Map<string, Pod[]>();
  for (const p of pods.values()) {
    const move = moves.get(p.key);
    const node = preempted.has(p.key) ? "" : move ? move.to ?? "" : p.node;
    if (!node) continue;
    const list = out.get(node);
    if (list) list.push(p); else out.set(node, [p]);
  }
  return out;
}

const colors = { moves: "#e69f00", moved: "#0072b2", stays: "#d55e00", other: "#a4abb6" };

// drainColoring colors the pods of the drained nodes by their part in the drain.
export function drainColoring(pods: Map<string, Pod>, x: Preview | null, round: number): Coloring {
  const kinds = new Map((x?.pods ?? []).map((p) => [p.pod, stays(p) ? "stays" as const : p.round && p.round <= round ? "moved" as const : "moves" as const]));
  const kindOf = (p: Pod) => kinds.get(p.key) ?? "other";
  const count = (kind: string) => [...pods.values()].filter((p) => p.node && kindOf(p) === kind).length;
  const text = { moves: "will move", moved: "has moved or ended", stays: "does not move", other: "other pods" };
  return {
    colorOf: (p) => colors[kindOf(p)], marked: (p) => kindOf(p) === "stays",
    legend: (["moves", "moved", "stays", "other"] as const).map((k) => ({ text: text[k], color: colors[k], count: count(k), marked: k === "stays" })).filter((l) => l.count > 0),
  };
}
