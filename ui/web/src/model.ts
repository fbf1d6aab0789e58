import { parseQuantity } from "./quantity";

// The fields of Kubernetes objects that the page reads.
interface Meta { name: string; namespace?: string; uid: string; resourceVersion?: string; labels?: Record<string, string>;
  creationTimestamp?: string; deletionTimestamp?: string; ownerReferences?: { kind: string; name: string; controller?: boolean }[] }
interface Container { restartPolicy?: string; resources?: { requests?: Record<string, string> } }
export interface APIPod {
  metadata: Meta;
  spec: { nodeName?: string; priority?: number; containers: Container[]; initContainers?: Container[]; overhead?: Record<string, string> };
  status?: { phase?: string; qosClass?: string; reason?: string };
}
export interface APINode {
  metadata: Meta;
  spec?: { unschedulable?: boolean; taints?: { key: string; value?: string; effect: string }[] };
  status?: { allocatable?: Record<string, string>; conditions?: { type: string; status: string }[] };
}

export interface Pod { key: string; namespace: string; name: string; node: string; priority: number; owner: string; qos: string; requests: Record<string, number> }
export interface Node { name: string; labels: Record<string, string>; allocatable: Record<string, number>; ready: boolean; cordoned: boolean; taints: string[]; pressure: string[]; known: boolean }

export function toPod(p: APIPod): Pod | null {
  const phase = p.status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return null;
  const controller = p.metadata.ownerReferences?.find((o) => o.controller);
  return {
    key: p.metadata.namespace + "/" + p.metadata.name, namespace: p.metadata.namespace!, name: p.metadata.name, node: p.spec.nodeName ?? "",
    priority: p.spec.priority ?? 0, owner: controller ? ownerName(controller.kind, controller.name) : "no owner", qos: p.status?.qosClass ?? "BestEffort", requests: requestsOf(p),
  };
}

// ownerName names a Deployment instead of its ReplicaSet.
function ownerName(kind: string, name: string): string {
  if (kind === "ReplicaSet") return "Deployment/" + name.replace(/-[a-z0-9]+$/, "");
  return kind + "/" + name;
}

// requestsOf returns the requests that scheduling counts: those of the containers and the sidecars, or of an init
// container and the sidecars before it, whichever is more, plus the overhead.
function requestsOf(p: APIPod): Record<string, number> {
  const total: Record<string, number> = { pods: 1 }, sidecars: Record<string, number> = {}, peak: Record<string, number> = {};
  for (const c of p.spec.initContainers ?? []) {
    const requests = c.resources?.requests ?? {};
    for (const r in requests) {
      const amount = parseQuantity(requests[r]);
      if (c.restartPolicy === "Always") sidecars[r] = (sidecars[r] ?? 0) + amount;
      else peak[r] = Math.max(peak[r] ?? 0, amount + (sidecars[r] ?? 0));
    }
  }
  for (const c of p.spec.containers) add(total, c.resources?.requests);
  for (const r in sidecars) total[r] = (total[r] ?? 0) + sidecars[r]!;
  for (const r in peak) total[r] = Math.max(total[r] ?? 0, peak[r]!);
  add(total, p.spec.overhead);
  return total;
}

function add(to: Record<string, number>, from: Record<string, string> = {}) {
  for (const r in from) to[r] = (to[r] ?? 0) + parseQuantity(from[r]);
}

export function toNode(n: APINode): Node {
  const allocatable: Record<string, number> = {};
  add(allocatable, n.status?.allocatable);
  const conditions = n.status?.conditions ?? [];
  return {
    name: n.metadata.name, labels: n.metadata.labels ?? {}, allocatable, known: true, cordoned: n.spec?.unschedulable ?? false,
    ready: conditions.some((c) => c.type === "Ready" && c.status === "True"),
    pressure: conditions.filter((c) => c.type.endsWith("Pressure") && c.status === "True").map((c) => c.type),
    taints: (n.spec?.taints ?? []).map((t) => `${t.key}${t.value ? "=" + t.value : ""}:${t.effect}`),
  };
}

// parseSelector parses requirements of the forms key, !key, key=value, key!=value, key in (a, b) and key notin (a, b),
// separated by commas. For any other text it returns an error message and matches nothing.
export function parseSelector(text: string): { error: string; matches: (labels: Record<string, string>) => boolean } {
  const tests: ((l: Record<string, string>) => boolean)[] = [];
  for (const part of text.split(/,(?![^(]*\))/).map((s) => s.trim()).filter(Boolean)) {
    let m: RegExpExecArray | null;
    if ((m = /^!\s*([\w./-]+)$/.exec(part))) tests.push((l) => !(m![1]! in l));
    else if ((m = /^([\w./-]+)$/.exec(part))) tests.push((l) => m![1]! in l);
    else if ((m = /^([\w./-]+)\s*(==?|!=)\s*([\w.-]*)$/.exec(part))) tests.push((l) => (l[m![1]!] === m![3]) === (m![2] !== "!="));
    else if ((m = /^([\w./-]+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(part))) {
      const values = m[3]!.split(",").map((s) => s.trim());
      tests.push((l) => (m![1]! in l && values.includes(l[m![1]!]!)) === (m![2] === "in"));
    } else return { error: `${part}: must be key, !key, key=value, key!=value, key in (a, b) or key notin (a, b)`, matches: () => false };
  }
  return { error: "", matches: (l) => tests.every((t) => t(l)) };
}
