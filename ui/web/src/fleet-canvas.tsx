import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Coloring } from "./colors";
import { Bars, Cell, cellAt, gap, Group, Layout, isTainted, maxHeight, place, usable } from "./fleet-layout";
import { notePanning } from "./panning";
import { formatAmount } from "./quantity";

interface Props { groups: Group[]; resource: string; coloring: Coloring; selected: string; select(node: string): void; toggle?(node: string): void; version: number; label?: string; size?: number }

const labelSize = 56; // minimum size of a cell that shows its node's name, in pixels

export function FleetCanvas({ groups, resource, coloring, selected, select, toggle, version, label, size = 0 }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null), viewport = useRef<HTMLDivElement>(null), extent = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const [focus, setFocus] = useState(-1);
  useEffect(() => {
    const observer = new ResizeObserver(([e]) => setWidth(Math.floor(e!.contentRect.width)));
    observer.observe(extent.current!);
    const media = matchMedia("(prefers-color-scheme: dark)"), change = () => setDark(media.matches);
    media.addEventListener("change", change);
    return () => { observer.disconnect(); media.removeEventListener("change", change); };
  }, []);
  const layout = useMemo(() => place(groups, width || 300, size), [groups, width, size, version]);
  const current = selected ? layout.cells.findIndex((c) => c.node.name === selected) : focus;
  const frame = useRef(0);
  const paint = useRef(() => {});
  const drawn = useRef<Drawn | null>(null);
  paint.current = () => { if (width) drawn.current = draw(canvas.current!, viewport.current!, extent.current!, layout, width, resource, coloring, current, drawn.current); };
  useEffect(() => paint.current(), [width, version, resource, coloring, current, groups, dark, size]);
  const onScroll = () => {
    notePanning();
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => paint.current());
  };
  const reveal = (cell: Cell) => {
    const view = viewport.current!;
    if (cell.y < view.scrollTop) view.scrollTop = cell.y;
    else if (cell.y + layout.size > view.scrollTop + view.clientHeight) view.scrollTop = cell.y + layout.size - view.clientHeight;
  };
  useEffect(() => { if (width && selected && layout.cells[current]) reveal(layout.cells[current]!); }, [selected, width, size, layout.cells.length]);
  const pick = (i: number) => {
    const cell = layout.cells[i];
    if (!cell) return;
    reveal(cell);
    setFocus(i);
    select(cell.node.name);
  };
  const onKey = (e: KeyboardEvent) => {
    const step: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns };
    const last = layout.cells.length - 1;
    if (toggle && (e.key === "Enter" || e.key === " ") && current >= 0) toggle(layout.cells[current]!.node.name);
    else if (e.key === "Home") pick(0);
    else if (e.key === "End") pick(last);
    else if (e.key in step) pick(Math.min(last, Math.max(0, current < 0 ? 0 : current + step[e.key]!)));
    else return;
    e.preventDefault();
  };
  return <div class="canvas" ref={viewport} onScroll={onScroll}><div ref={extent}>
    <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="map of nodes" aria-describedby="selected-node"
      aria-label={label ?? `Fleet: ${layout.cells.length} nodes, those with most free ${resource} first. Arrow keys select a node.`}
      onKeyDown={onKey} onClick={(e) => { const i = cellAt(layout, e.offsetX, e.offsetY + viewport.current!.scrollTop); pick(i); if (i >= 0) toggle?.(layout.cells[i]!.node.name); }} />
  </div></div>;
}

// Drawn is what the canvas shows.
interface Drawn { layout: Layout; coloring: Coloring; current: number; ink: string; top: number; size: string }

// draw draws the visible part of the map. The canvas has the size of the viewport and stays at its top.
function draw(canvas: HTMLCanvasElement, viewport: HTMLElement, extent: HTMLElement, layout: Layout, width: number, resource: string, coloring: Coloring, current: number, drawn: Drawn | null): Drawn {
  const ratio = devicePixelRatio || 1, style = getComputedStyle(canvas);
  const ink = style.getPropertyValue("--ink"), empty = style.getPropertyValue("--empty"), muted = style.getPropertyValue("--muted"), line = style.getPropertyValue("--line");
  const height = Math.min(layout.height, maxHeight());
  const set = (e: HTMLElement, name: "width" | "height", n: number) => { if (e.style[name] !== n + "px") e.style[name] = n + "px"; };
  set(extent, "height", layout.height);
  set(viewport, "height", height);
  set(canvas, "width", width);
  set(canvas, "height", height);
  if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) {
    canvas.width = Math.floor(width * ratio);
    canvas.height = Math.floor(height * ratio);
  }
  const c = canvas.getContext("2d")!, top = viewport.scrollTop;
  c.setTransform(1, 0, 0, 1, 0, 0);
  // After a scroll, the visible part is moved and only the rest is drawn.
  const moved = drawn && drawn.layout === layout && drawn.coloring === coloring && drawn.current === current && drawn.ink === ink && drawn.size === canvas.width + "x" + canvas.height ? top - drawn.top : height;
  const shift = Math.abs(moved) < height && Number.isInteger(moved * ratio);
  let from = top, to = top + height;
  if (shift) {
    c.globalCompositeOperation = "copy";
    c.drawImage(canvas, 0, -moved * ratio);
    c.globalCompositeOperation = "source-over";
    if (moved > 0) from = to - moved; else to = from - moved;
  }
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.translate(0, -top);
  c.save();
  c.beginPath();
  c.rect(0, from, width, to - from);
  c.clip();
  c.clearRect(0, from, width, to - from);
  drawBetween(c, from, to, layout, width, resource, coloring, { ink, empty, muted, line }, current);
  c.restore();
  return { layout, coloring, current, ink, top, size: canvas.width + "x" + canvas.height };
}

// drawBetween draws the groups and cells that are visible between two positions.
function drawBetween(c: CanvasRenderingContext2D, top: number, bottom: number, layout: Layout, width: number, resource: string, coloring: Coloring, colors: Record<"ink" | "empty" | "muted" | "line", string>, current: number) {
  let index = 0;
  for (const g of layout.groups) {
    if (g.name && g.y + 26 > top && g.y < bottom) {
      c.fillStyle = colors.ink;
      c.font = "600 13px system-ui, sans-serif";
      c.fillText(`${g.name}: ${g.cells.length} nodes, ${formatAmount(resource, g.free)} of ${formatAmount(resource, g.capacity)} ${resource} free`, 0, g.y + 17, width);
    }
    const first = g.cells[0]?.y ?? 0, row = layout.size + gap;
    const from = Math.max(0, Math.floor((top - first - layout.size) / row)) * layout.columns, to = Math.min(g.cells.length, (Math.floor((bottom - first) / row) + 1) * layout.columns);
    for (let i = from; i < to; i++) drawCell(c, g.cells[i]!, layout.size, resource, coloring, colors, index + i === current);
    index += g.cells.length;
  }
}

// barsOf returns the bars of a cell from its bottom: one for each pod, the largest first, or in a small cell one for each color.
function barsOf(cell: Cell, resource: string, coloring: Coloring, small: boolean): Bars {
  if (cell.bars?.coloring === coloring && cell.bars.small === small && cell.bars.resource === resource) return cell.bars;
  const bars: Bars = { coloring, small, resource, list: [] };
  if (small) {
    const sums = new Map<string, { color: string; amount: number; marked?: boolean }>();
    for (const p of cell.pods) {
      const color = coloring.colorOf(p), sum = sums.get(color);
      if (sum) sum.amount += p.requests[resource] ?? 0; else sums.set(color, { color, amount: p.requests[resource] ?? 0, marked: coloring.marked?.(p) });
    }
    bars.list.push(...sums.values());
    bars.list.sort((a, b) => (a.color < b.color ? -1 : 1));
  } else {
    for (const p of cell.pods) bars.list.push({ color: coloring.colorOf(p), amount: p.requests[resource] ?? 0, marked: coloring.marked?.(p) });
    bars.list.sort((a, b) => b.amount - a.amount);
  }
  cell.bars = bars;
  return bars;
}

// drawCell fills a cell from its bottom, in proportion to the requests of its pods. It hatches nodes that accept no new pods, and
// dashes the border of tainted ones.
function drawCell(c: CanvasRenderingContext2D, cell: Cell, size: number, resource: string, coloring: Coloring, colors: Record<"ink" | "empty" | "muted" | "line", string>, current: boolean) {
  const { x, y, node } = cell, title = size >= labelSize ? 16 : 0, inner = size - title;
  c.fillStyle = colors.empty;
  c.fillRect(x, y, size, size);
  const capacity = Math.max(node.allocatable[resource] ?? 0, cell.used, Number.MIN_VALUE);
  let bottom = y + size;
  for (const bar of barsOf(cell, resource, coloring, size < labelSize).list) {
    const h = bar.amount / capacity * inner;
    if (h <= 0) continue;
    c.fillStyle = bar.color;
    c.fillRect(x, bottom - h, size, h > 3 ? h - 1 : h);
    if (bar.marked) cross(c, x, bottom - h, size, h - 1);
    bottom -= h;
  }
  if (!usable(node)) hatch(c, x, y, size, colors.ink);
  if (title) {
    c.fillStyle = colors.ink;
    c.font = "11px system-ui, sans-serif";
    c.fillText(fit(c, node.name, size - 8), x + 4, y + 12);
    if (bottom - y - title > 14 && usable(node)) {
      c.fillStyle = colors.muted;
      c.fillText(cell.text ??= fit(c, formatAmount(resource, cell.free) + " free", size - 8), x + 4, y + 27);
    }
  }
  const tainted = usable(node) && isTainted(node), strong = node.pressure.length > 0 || !node.ready || tainted;
  c.strokeStyle = strong ? colors.ink : colors.line;
  c.lineWidth = strong ? 2 : 1;
  if (tainted) c.setLineDash(size < 16 ? [2, 2] : [4, 4]);
  c.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (tainted) c.setLineDash([]);
  if (node.pressure.length) {
    c.fillStyle = colors.ink;
    c.font = `700 ${Math.min(16, size * 0.7)}px system-ui, sans-serif`;
    c.fillText("!", x + size - Math.min(12, size * 0.5), y + Math.min(14, size * 0.8));
  }
  if (current) {
    c.strokeStyle = colors.ink;
    c.lineWidth = 3;
    c.strokeRect(x + 1.5, y + 1.5, size - 3, size - 3);
  }
}

// cross crosses out a bar: black lines on a white edge, which are visible on any color.
function cross(c: CanvasRenderingContext2D, x: number, y: number, width: number, height: number) {
  for (const [color, line] of [["#ffffff", 3.5], ["#000000", 1.5]] as const) {
    c.strokeStyle = color;
    c.lineWidth = line;
    c.beginPath();
    c.moveTo(x, y); c.lineTo(x + width, y + height);
    c.moveTo(x, y + height); c.lineTo(x + width, y);
    c.stroke();
  }
}

function hatch(c: CanvasRenderingContext2D, x: number, y: number, size: number, color: string) {
  c.save();
  c.beginPath();
  c.rect(x, y, size, size);
  c.clip();
  c.strokeStyle = color;
  c.globalAlpha = 0.35;
  c.lineWidth = 1;
  c.beginPath();
  for (let d = -size; d < size; d += 6) { c.moveTo(x + d, y + size); c.lineTo(x + d + size, y); }
  c.stroke();
  c.restore();
}

const fitted = new Map<string, string>(); // measuring a text takes as long as drawing many cells

// fit shortens a text to a width in the font of names.
function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  const key = width + " " + text, known = fitted.get(key);
  if (known !== undefined) return known;
  let out = text;
  if (c.measureText(out).width > width) {
    while (text.length > 1 && c.measureText(text + "…").width > width) text = text.slice(0, -1);
    out = text + "…";
  }
  if (fitted.size > 50000) fitted.clear();
  fitted.set(key, out);
  return out;
}
