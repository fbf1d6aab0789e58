import type { Coloring } from "./colors";
import { Node, Pod } from "./model";

// Bars are the bars of a cell for a coloring, which stay valid until the cell changes.
export interface Bars { coloring: Coloring; small: boolean; resource: string; list: { color: string; amount: number; marked?: boolean }[] }
export interface Cell { node: Node; pods: Pod[]; used: number; free: number; x: number; y: number; bars?: Bars; text?: string }
export interface Group { name: string; cells: Cell[]; y: number; capacity: number; free: number }
export interface Layout { groups: Group[]; cells: Cell[]; size: number; columns: number; height: number }

const titleHeight = 26;
export const gap = 3;

// maxHeight returns the maximum height of the map in the window. A higher map is scrolled.
export function maxHeight(): number { return Math.max(300, Math.min(700, innerHeight - 300)); }

// groupCells returns a cell for each node, grouped by the value of a label. The nodes with the largest free capacity come
// first, or the cells are sorted by name.
export function groupCells(nodes: Node[], podsOf: Map<string, Pod[]>, resource: string, label: string, byName = false): Group[] {
  const groups = new Map<string, Group>();
  for (const node of nodes) {
    const pods = podsOf.get(node.name) ?? [];
    let used = 0;
    for (const p of pods) used += p.requests[resource] ?? 0;
    const capacity = node.allocatable[resource] ?? 0, name = label ? node.labels[label] ?? "without " + label : "";
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, cells: [], y: 0, capacity: 0, free: 0 }));
    group.cells.push({ node, pods, used, free: Math.max(0, capacity - used), x: 0, y: 0 });
    group.capacity += capacity;
    if (usable(node)) group.free += Math.max(0, capacity - used);
  }
  const out = [...groups.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  for (const g of out) g.cells.sort((a, b) => byName ? compareNames(a, b) : Number(usable(b.node)) - Number(usable(a.node)) || b.free - a.free || compareNames(a, b));
  return out;
}

const collator = new Intl.Collator("en", { numeric: true });

function compareNames(a: Cell, b: Cell): number { return collator.compare(a.node.name, b.node.name); }

// usable reports whether a node accepts new pods, apart from its taints.
export function usable(n: Node): boolean { return n.known && n.ready && !n.cordoned; }

// isTainted reports whether a node accepts only pods that tolerate its taints.
export function isTainted(n: Node): boolean { return n.taints.some((t) => /:No(Schedule|Execute)$/.test(t)); }

// place sets the positions of cells of a size, or of the largest size that the area allows if it is 0.
export function place(groups: Group[], width: number, fixed: number): Layout {
  const cells = groups.flatMap((g) => g.cells);
  const target = maxHeight();
  let size = fixed || 120;
  const heightFor = (s: number) => {
    const columns = Math.max(1, Math.floor((width + gap) / (s + gap)));
    return groups.reduce((h, g) => h + (g.name ? titleHeight : 0) + Math.ceil(g.cells.length / columns) * (s + gap), 0);
  };
  while (!fixed && size > 4 && heightFor(size) > target) size -= size > 24 ? 2 : 1;
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
