import { Node, Pod } from "./model";

export interface Cell { node: Node; pods: Pod[]; used: number; free: number; x: number; y: number }
export interface Group { name: string; cells: Cell[]; y: number; capacity: number; free: number }
export interface Layout { groups: Group[]; cells: Cell[]; size: number; columns: number; height: number }

const titleHeight = 26;
const gap = 3;

// groupCells returns a cell for each node, grouped by the value of a label. The nodes with the largest free capacity come first.
export function groupCells(nodes: Node[], podsOf: Map<string, Pod[]>, resource: string, label: string): Group[] {
  const groups = new Map<string, Group>();
  for (const node of nodes) {
    const pods = podsOf.get(node.name) ?? [];
    const used = pods.reduce((n, p) => n + (p.requests[resource] ?? 0), 0), capacity = node.allocatable[resource] ?? 0;
    const name = label ? node.labels[label] ?? "without " + label : "";
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, cells: [], y: 0, capacity: 0, free: 0 }));
    group.cells.push({ node, pods, used, free: Math.max(0, capacity - used), x: 0, y: 0 });
    group.capacity += capacity;
    if (usable(node)) group.free += Math.max(0, capacity - used);
  }
  const out = [...groups.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  for (const g of out) g.cells.sort((a, b) => Number(usable(b.node)) - Number(usable(a.node)) || b.free - a.free || a.node.name.localeCompare(b.node.name, "en", { numeric: true }));
  return out;
}

// usable reports whether a node accepts new pods, apart from its taints.
export function usable(n: Node): boolean { return n.known && n.ready && !n.cordoned; }

// place sets the positions of cells, which are as large as the area allows.
export function place(groups: Group[], width: number): Layout {
  const cells = groups.flatMap((g) => g.cells);
  const target = Math.max(300, Math.min(700, innerHeight - 300));
  let size = 120;
  const heightFor = (s: number) => {
    const columns = Math.max(1, Math.floor((width + gap) / (s + gap)));
    return groups.reduce((h, g) => h + (g.name ? titleHeight : 0) + Math.ceil(g.cells.length / columns) * (s + gap), 0);
  };
  while (size > 10 && heightFor(size) > target) size -= size > 24 ? 2 : 1;
  const columns = Math.max(1, Math.floor((width + gap) / (size + gap)));
  let y = 0;
  for (const g of groups) {
    g.y = y;
    if (g.name) y += titleHeight;
    g.cells.forEach((c, i) => { c.x = (i % columns) * (size + gap); c.y = y + Math.floor(i / columns) * (size + gap); });
    y += Math.ceil(g.cells.length / columns) * (size + gap);
  }
  return { groups, cells, size, columns, height: Math.max(y, size) };
}

// cellAt returns the index of the cell at a position, or -1.
export function cellAt(layout: Layout, x: number, y: number): number {
  return layout.cells.findIndex((c) => x >= c.x && x < c.x + layout.size && y >= c.y && y < c.y + layout.size);
}
