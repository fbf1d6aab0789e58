import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useWidth } from "./width";

export interface Line { label: string; values: (number | null)[]; color: "line" | "alert" | "ink"; dashed?: boolean; stepped?: boolean }

// Props of a chart. The label has the figures of the chart for screen readers. At mark, a vertical line is drawn. Steps are the possible
// distances between the numbers of an axis.
interface Props { label: string; x: number[]; lines: Line[]; xLabel: string; yLabel: string; formatX(n: number): string; formatY(n: number): string; maxY?: number; mark?: number; stepsX: number[]; stepsY: number[] }

// decimals are steps of counts.
export const decimals = Array.from({ length: 48 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** (Math.floor(i / 3) - 3));

const height = 190;
const font = "12px system-ui, sans-serif", labelFont = "13px system-ui, sans-serif";

// Chart draws lines with axes on a canvas.
export function Chart(p: Props) {
  const element = useRef<HTMLDivElement>(null), width = useWidth(element);
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)"), change = () => setDark(media.matches);
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  useEffect(() => {
    if (width < 50) return;
    const chart = new uPlot(optionsOf(p, width, getComputedStyle(element.current!)), [p.x, ...p.lines.map((l) => l.values)], element.current!);
    return () => chart.destroy();
  }, [width, dark, p.mark, JSON.stringify([p.x, p.lines])]);
  return <div class="chart" role="img" aria-label={p.label} ref={element} />;
}

function optionsOf(p: Props, width: number, style: CSSStyleDeclaration): uPlot.Options {
  const ink = style.getPropertyValue("--ink"), muted = style.getPropertyValue("--muted"), grid = style.getPropertyValue("--line");
  const colors = { line: style.getPropertyValue("--chart"), alert: style.getPropertyValue("--chart-alert"), ink };
  const axis = (label: string, format: (n: number) => string, incrs: number[], size: number, space: number): uPlot.Axis => ({ label, incrs, labelFont, labelSize: 18, font, size, space, stroke: muted, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, values: (_, ticks) => ticks.map((n) => format(n)) });
  return {
    width, height, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, min, max) => [Math.min(0, min), (p.maxY ?? Math.max(max, 1)) * 1.05] } },
    axes: [axis(p.xLabel, p.formatX, p.stepsX, 30, 70), axis(p.yLabel, p.formatY, p.stepsY, 64, 30)],
    series: [{}, ...p.lines.map((l): uPlot.Series => ({ label: l.label, stroke: colors[l.color], width: 2, dash: l.dashed ? [6, 4] : undefined, points: { show: false }, paths: l.stepped ? uPlot.paths.stepped!({ align: 1 }) : undefined }))],
    hooks: { draw: [(u) => { if (p.mark !== undefined) drawMark(u, p.mark, ink); }] },
  };
}

function drawMark(u: uPlot, at: number, ink: string) {
  const x = Math.round(u.valToPos(at, "x", true));
  u.ctx.save();
  u.ctx.strokeStyle = ink;
  u.ctx.lineWidth = devicePixelRatio || 1;
  u.ctx.setLineDash([4, 3]);
  u.ctx.beginPath();
  u.ctx.moveTo(x, u.bbox.top);
  u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
  u.ctx.stroke();
  u.ctx.restore();
}
