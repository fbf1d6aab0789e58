export interface Pod { key: string; namespace: string; name: string; node: string; priority: number; owner: string; qos: string; requests: Record<string, number> }
export interface Node { name: string; labels: Record<string, string>; allocatable: Record<string, number>; ready: boolean; cordoned: boolean; taints: string[]; pressure: string[]; known: boolean }

// Changes are the nodes and pods that were added, changed or removed. Pods are in columns, with indexes into strings and requests.
export interface Changes { nodes?: Omit<Node, "known">[]; deletedNodes?: string[]; pods?: Columns; deletedPods?: string[] }
interface Columns { strings: string[]; requests: Record<string, number>[]; name: string[]; namespace: number[]; node: number[]; owner: number[]; qos: number[]; request: number[]; priority: number[] }

// applyChanges changes nodes and pods by their names.
export function applyChanges(nodes: Map<string, Node>, pods: Map<string, Pod>, c: Changes) {
  for (const name of c.deletedNodes ?? []) nodes.delete(name);
  for (const n of c.nodes ?? []) nodes.set(n.name, { ...n, known: true });
  for (const key of c.deletedPods ?? []) pods.delete(key);
  const p = c.pods;
  if (!p) return;
  for (let i = 0; i < p.name.length; i++) {
    const namespace = p.strings[p.namespace[i]!]!, name = p.name[i]!, key = namespace + "/" + name;
    pods.set(key, { key, namespace, name, node: p.strings[p.node[i]!]!, priority: p.priority[i]!, owner: p.strings[p.owner[i]!]!, qos: p.strings[p.qos[i]!]!, requests: p.requests[p.request[i]!]! });
  }
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
