import type { Coloring } from "./colors";
import type { Node, Pod } from "./model";
import { byNode } from "./store";

// A suggestion of `berth explain pod -o json`. Amounts are in thousandths of a core, bytes or counts.
interface Change { kind: string; node?: string; pod?: string; preemptible?: boolean; key?: string; value?: string; amount?: number; taint?: string; labels?: Record<string, string>; size?: Record<string, number> }
export interface Suggestion { message: string; node: string; similarNodesNotTried?: number; changes: Change[] }

// State is the fleet after a suggestion: the pod is on its node, without the removed pods.
export interface State { nodes: Node[]; podsOf: Map<string, Pod[]>; pod?: Pod; node?: Node; added: boolean; removed: { pod: string; preempted: boolean; node: string }[]; smaller: Set<string> }

// groupSuggestions groups the additions of a node that differ only in the node that they copy.
export function groupSuggestions(list: Suggestion[]): Suggestion[][] {
  const groups = new Map<string, Suggestion[]>();
  for (const s of list) {
    const key = s.changes.length === 1 && s.changes[0]!.kind === "AddNode" ? JSON.stringify({ ...s.changes[0], node: "" }) : s.message;
    const group = groups.get(key);
    if (group) group.push(s); else groups.set(key, [s]);
  }
  return [...groups.values()];
}

function valueOf(resource: string, amount: number): number { return resource === "cpu" ? amount / 1000 : amount; }

// stateAfter applies a suggestion to the fleet as the server did on its fork. Changes that the map does not show have no effect here.
export function stateAfter(nodesNow: Map<string, Node>, podsNow: Map<string, Pod>, key: string, s: Suggestion): State {
  const nodes = new Map(nodesNow), pods = new Map(podsNow), out: State = { nodes: [], podsOf: new Map(), added: false, removed: [], smaller: new Set() };
  let pod = podsNow.get(key);
  for (const c of s.changes) {
    const node = nodes.get(c.node ?? ""), resource = c.key ?? "", amount = valueOf(resource, c.amount ?? 0);
    if (c.kind === "RemovePod" && c.pod) {
      pods.delete(c.pod);
      out.removed.push({ pod: c.pod, preempted: c.preemptible ?? false, node: c.node ?? "" });
    } else if (c.kind === "LowerRequest" && pod) pod = { ...pod, requests: { ...pod.requests, [resource]: amount } };
    else if (c.kind === "FreeResource") freeResource(pods, c.node ?? "", resource, amount, out.smaller);
    else if (c.kind === "AddNode" && node) {
      const sizes = Object.fromEntries(Object.entries(c.size ?? {}).map(([r, n]) => [r, valueOf(r, n)]));
      nodes.set(s.node, { ...node, name: s.node, ready: true, cordoned: false, pressure: [], taints: node.taints.filter((t) => !ofNodeState(t)), allocatable: { ...node.allocatable, ...sizes } });
      out.added = true;
    } else if (node) nodes.set(node.name, changeNode(node, c));
  }
  out.node = nodes.get(s.node);
  if (pod) pods.set(key, (out.pod = { ...pod, node: s.node }));
  out.nodes = [...nodes.values()];
  out.podsOf = byNode(pods);
  return out;
}

function ofNodeState(taint: string): boolean { return taint.startsWith("node.kubernetes.io/"); }

function changeNode(n: Node, c: Change): Node {
  switch (c.kind) {
    case "Uncordon": return { ...n, cordoned: false };
    case "RaisePodLimit": return { ...n, allocatable: { ...n.allocatable, pods: c.amount ?? 0 } };
    case "SetLabel": return { ...n, labels: { ...n.labels, [c.key ?? ""]: c.value ?? "" } };
    case "RemoveTaint": return { ...n, taints: n.taints.filter((t) => t !== c.taint), ready: n.ready || /^node\.kubernetes\.io\/(not-ready|unreachable)/.test(c.taint ?? "") };
  }
  return n;
}

// freeResource lowers the requests of the pods on a node, the largest first, until the amount is free.
function freeResource(pods: Map<string, Pod>, node: string, resource: string, amount: number, smaller: Set<string>) {
  const list = [...pods.values()].filter((p) => p.node === node).sort((a, b) => (b.requests[resource] ?? 0) - (a.requests[resource] ?? 0));
  for (const p of list) {
    const cut = Math.min(p.requests[resource] ?? 0, amount);
    if (cut <= 0) return;
    pods.set(p.key, { ...p, requests: { ...p.requests, [resource]: (p.requests[resource] ?? 0) - cut } });
    smaller.add(p.key);
    amount -= cut;
  }
}

const colors = { pod: "#d55e00", smaller: "#e69f00", other: "#a4abb6" };

// suggestionColoring highlights the pod, and the pods that must request less.
export function suggestionColoring(s: State): Coloring {
  const count = [...s.podsOf.values()].reduce((n, list) => n + list.length, 0), others = count - s.smaller.size - (s.pod ? 1 : 0);
  return {
    colorOf: (p) => p === s.pod ? colors.pod : s.smaller.has(p.key) ? colors.smaller : colors.other,
    legend: [{ text: s.pod?.key ?? "", color: colors.pod, count: s.pod ? 1 : 0 }, { text: "must request less", color: colors.smaller, count: s.smaller.size }, { text: "other pods", color: colors.other, count: others }].filter((l) => l.count > 0),
  };
}
