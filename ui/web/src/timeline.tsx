import { useRef } from "preact/hooks";
import { plural } from "./quantity";
import { useWidth } from "./width";

export interface Mark { time: string; kind: string; text: string }

const row = 24, axis = 22, maxMarks = 1000;
const colors = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#b8a800"];
const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
const steps = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * second, n * minute]).concat([hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 60 * day, 120 * day, 365 * day]).sort((a, b) => a - b);

// Timeline shows a mark for each event, in a row for each kind, on an axis that ends at a time.
export function Timeline({ label, marks, kinds, end }: { label: string; marks: Mark[]; kinds: string[]; end: number }) {
  const element = useRef<HTMLDivElement>(null), width = useWidth(element);
  const shown = marks.slice(0, maxMarks), times = shown.map((m) => Date.parse(m.time)), present = kinds.filter((k) => shown.some((m) => m.kind === k));
  const first = Math.min(...times), last = Math.max(end, ...times), span = Math.max(last - first, 10 * second);
  const left = Math.min(220, 12 + 7.2 * Math.max(...present.map((k) => k.length))), right = width - 12;
  const x = (t: number) => right - (last - t) / span * (right - left);
  const step = steps.find((s) => span / s <= Math.max(1, (right - left) / 110)) ?? span, zone = new Date(last).getTimezoneOffset() * minute;
  const ticks: number[] = [];
  for (let t = Math.ceil((last - span - zone) / step) * step + zone; t <= last; t += step) ticks.push(t);
  const bottom = present.length * row;
  return <div ref={element} class="timeline">{width > 100 && shown.length > 0 && <svg width={width} height={bottom + axis} role="list" aria-label={label}>
    {present.map((k, i) => <g key={k} aria-hidden="true"><text x="0" y={i * row + 16}>{k}</text><line x1={left} x2={right} y1={i * row + row / 2} y2={i * row + row / 2} /></g>)}
    <g aria-hidden="true"><line class="axis" x1={left} x2={right} y1={bottom} y2={bottom} />{ticks.map((t) => <g key={t}><line class="axis" x1={x(t)} x2={x(t)} y1={bottom} y2={bottom + 5} /><text class="time" x={x(t)} y={bottom + 18} text-anchor={x(t) > right - 30 ? "end" : x(t) < left + 30 ? "start" : "middle"}>{clock(t, step)}</text></g>)}</g>
    {shown.map((m, i) => <g key={m.time + m.text} role="listitem" aria-label={m.text}><title>{m.text}</title>
      <rect class="mark" x={x(times[i]!) - 3} y={present.indexOf(m.kind) * row + 4} width="6" height={row - 8} fill={colors[kinds.indexOf(m.kind) % colors.length]} /></g>)}
  </svg>}
    {marks.length > maxMarks && <p class="muted">The newest {plural(maxMarks, "mark")} of {marks.length.toLocaleString("en")}.</p>}
  </div>;
}

function clock(t: number, step: number): string {
  const d = new Date(t), time = d.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: step < minute ? "2-digit" : undefined });
  return step >= day ? d.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) : step >= hour ? d.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " " + time : time;
}
