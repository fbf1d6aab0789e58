import { Node, Pod } from "./model";

// Six colors of the palette of Okabe and Ito, which differ for color-blind users, too, and two darker ones.
const palette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8c6bb1"];
const otherColor = "#8a8f98";

// Coloring has the colors of pods. Marked pods are crossed out on the map, so that they differ without the color, too.
export interface Coloring { colorOf(p: Pod): string; marked?(p: Pod): boolean; legend: { text: string; color: string; count: number; marked?: boolean }[] }

// newColoring gives each value of an attribute a color. If there are more values than colors, the rarest share one.
export function newColoring(by: string, pods: Pod[], nodes: Map<string, Node>): Coloring {
  const priorities = new Map<number, string>();
  const valueOf = (p: Pod): string => {
    if (by === "owner") return p.owner;
    if (by === "qos") return p.qos;
    if (by === "pressure") return nodes.get(p.node)?.pressure.join(", ") || "no pressure";
    let text = priorities.get(p.priority);
    if (!text) priorities.set(p.priority, (text = "priority " + p.priority.toLocaleString("en")));
    return text;
  };
  const counts = new Map<string, number>();
  for (const p of pods) { const v = valueOf(p); counts.set(v, (counts.get(v) ?? 0) + 1); }
  const fixed: Record<string, string> = { Guaranteed: "#0072b2", Burstable: "#e69f00", BestEffort: "#cc79a7", "no pressure": "#0072b2" };
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const colors = new Map<string, string>();
  const available = by === "pressure" ? ["#d55e00", "#e69f00", "#cc79a7"] : palette;
  const shown = sorted.slice(0, available.length);
  let next = 0;
  for (const [v] of shown.map((e) => e).sort((a, b) => (a[0] < b[0] ? -1 : 1))) colors.set(v, fixed[v] ?? available[next++ % available.length]!);
  const legend = shown.map(([text, count]) => ({ text, count, color: colors.get(text)! }));
  const others = sorted.slice(available.length);
  if (others.length) legend.push({ text: `${others.length} others`, count: others.reduce((n, e) => n + e[1], 0), color: otherColor });
  return { colorOf: (p) => colors.get(valueOf(p)) ?? otherColor, legend };
}
