import { useEffect, useRef, useState } from "preact/hooks";
import { Colouring } from "./colours";
import { Cell, cellAt, Group, Layout, place, usable } from "./fleet-layout";
import { formatAmount } from "./quantity";

interface Props { groups: Group[]; resource: string; colouring: Colouring; selected: string; select(node: string): void; version: number }

const labelSize = 56; // minimum size of a cell that shows its node's name, in pixels

export function FleetCanvas({ groups, resource, colouring, selected, select, version }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  const [focus, setFocus] = useState(-1);
  useEffect(() => {
    const observer = new ResizeObserver(([e]) => setWidth(Math.floor(e!.contentRect.width)));
    observer.observe(canvas.current!.parentElement!);
    const media = matchMedia("(prefers-color-scheme: dark)"), change = () => setDark(media.matches);
    media.addEventListener("change", change);
    return () => { observer.disconnect(); media.removeEventListener("change", change); };
  }, []);
  const layout = place(groups, width || 300);
  const current = selected ? layout.cells.findIndex((c) => c.node.name === selected) : focus;
  useEffect(() => { if (width) draw(canvas.current!, layout, width, resource, colouring, current); }, [width, version, resource, colouring, current, groups, dark]);
  const pick = (i: number) => { if (i >= 0) { setFocus(i); select(layout.cells[i]!.node.name); } };
  const onKey = (e: KeyboardEvent) => {
    const step: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns };
    const last = layout.cells.length - 1;
    if (e.key === "Home") pick(0);
    else if (e.key === "End") pick(last);
    else if (e.key in step) pick(Math.min(last, Math.max(0, current < 0 ? 0 : current + step[e.key]!)));
    else return;
    e.preventDefault();
  };
  return <div class="canvas">
    <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="map of nodes" aria-describedby="selected-node"
      aria-label={`Fleet: ${layout.cells.length} nodes, those with most free ${resource} first. Arrow keys select a node.`}
      onKeyDown={onKey} onClick={(e) => pick(cellAt(layout, e.offsetX, e.offsetY))} />
  </div>;
}

function draw(canvas: HTMLCanvasElement, layout: Layout, width: number, resource: string, colouring: Colouring, current: number) {
  const ratio = devicePixelRatio || 1, style = getComputedStyle(canvas);
  const ink = style.getPropertyValue("--ink"), empty = style.getPropertyValue("--empty"), muted = style.getPropertyValue("--muted"), line = style.getPropertyValue("--line");
  canvas.width = width * ratio;
  canvas.height = layout.height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = layout.height + "px";
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  for (const g of layout.groups) {
    if (!g.name) continue;
    c.fillStyle = ink;
    c.font = "600 13px system-ui, sans-serif";
    c.fillText(`${g.name}: ${g.cells.length} nodes, ${formatAmount(resource, g.free)} of ${formatAmount(resource, g.capacity)} ${resource} free`, 0, g.y + 17, width);
  }
  layout.cells.forEach((cell, i) => drawCell(c, cell, layout.size, resource, colouring, { ink, empty, muted, line }, i === current));
}

// drawCell fills a cell from its bottom, in proportion to the requests of its pods. It hatches nodes that accept no new pods.
function drawCell(c: CanvasRenderingContext2D, cell: Cell, size: number, resource: string, colouring: Colouring, colours: Record<"ink" | "empty" | "muted" | "line", string>, current: boolean) {
  const { x, y, node } = cell, title = size >= labelSize ? 16 : 0, inner = size - title;
  c.fillStyle = colours.empty;
  c.fillRect(x, y, size, size);
  const capacity = Math.max(node.allocatable[resource] ?? 0, cell.used, Number.MIN_VALUE);
  let bottom = y + size;
  for (const p of [...cell.pods].sort((a, b) => (a.requests[resource] ?? 0) < (b.requests[resource] ?? 0) ? 1 : -1)) {
    const h = ((p.requests[resource] ?? 0) / capacity) * inner;
    if (h <= 0) continue;
    c.fillStyle = colouring.colourOf(p);
    c.fillRect(x, bottom - h, size, h > 3 ? h - 1 : h);
    bottom -= h;
  }
  if (!usable(node)) hatch(c, x, y, size, colours.ink);
  if (title) {
    c.fillStyle = colours.ink;
    c.font = "11px system-ui, sans-serif";
    c.fillText(fit(c, node.name, size - 8), x + 4, y + 12);
    if (bottom - y - title > 14 && usable(node)) {
      c.fillStyle = colours.muted;
      c.fillText(fit(c, formatAmount(resource, cell.free) + " free", size - 8), x + 4, y + 27);
    }
  }
  c.strokeStyle = node.pressure.length || !node.ready ? colours.ink : colours.line;
  c.lineWidth = node.pressure.length || !node.ready ? 2 : 1;
  c.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (node.pressure.length) {
    c.fillStyle = colours.ink;
    c.font = `700 ${Math.min(16, size * 0.7)}px system-ui, sans-serif`;
    c.fillText("!", x + size - Math.min(12, size * 0.5), y + Math.min(14, size * 0.8));
  }
  if (current) {
    c.strokeStyle = colours.ink;
    c.lineWidth = 3;
    c.strokeRect(x + 1.5, y + 1.5, size - 3, size - 3);
  }
}

function hatch(c: CanvasRenderingContext2D, x: number, y: number, size: number, colour: string) {
  c.save();
  c.beginPath();
  c.rect(x, y, size, size);
  c.clip();
  c.strokeStyle = colour;
  c.globalAlpha = 0.35;
  c.lineWidth = 1;
  c.beginPath();
  for (let d = -size; d < size; d += 6) { c.moveTo(x + d, y + size); c.lineTo(x + d + size, y); }
  c.stroke();
  c.restore();
}

function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  while (text.length > 1 && c.measureText(text + "…").width > width) text = text.slice(0, -1);
  return text + "…";
}
