import { Chart, decimals, Line } from "./chart";
import { forecastOf, rateOf, Sample } from "./forecast";
import { formatAge, formatAmount } from "./quantity";

export interface Forecasted { signal: string; resource: string; available: number; capacity: number; threshold: number }

const times = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600]; // steps of the axis, in seconds
const binaries = Array.from({ length: 60 }, (_, i) => 2 ** i);

function inBytes(t: { resource: string }): boolean { return t.resource !== "inodes" && t.resource !== "pids"; }

// amount formats a value of a signal.
export function amount(t: { resource: string }, n: number): string { return formatAmount(inBytes(t) ? "memory" : "count", n); }

// trend describes the change while this view is open, and extends it in a straight line.
export function trend(t: Forecasted, samples: Sample[]): string {
  const { rate, seconds } = rateOf(samples);
  if (rate === undefined) return `Measuring the trend (${Math.round(seconds)} s)`;
  const over = ` over the last ${Math.round(seconds)} s`, { left } = forecastOf(t, rate);
  if (steady(t, rate)) return "Steady" + over;
  if (rate > 0) return `Grows by ${amount(t, rate)} per second${over}`;
  return `Falls by ${amount(t, -rate)} per second${over}` + (left ? `: at this rate the threshold is reached in ${duration(left)}` : "");
}

// steady reports whether a signal changes by less than 1 % of the capacity in an hour.
function steady(t: Forecasted, rate: number): boolean { return Math.abs(rate) * 3600 < t.capacity / 100; }

function duration(seconds: number): string { return formatAge(Date.now() - seconds * 1000, Date.now()); }

// Forecast shows the values of a signal, their continuation to the threshold as a dashed line, and the threshold. It shows nothing for a
// steady signal.
export function Forecast({ t, samples }: { t: Forecasted; samples: Sample[] }) {
  const { rate } = rateOf(samples), last = samples[samples.length - 1];
  if (rate === undefined || !last || steady(t, rate)) return null;
  const { end, value } = forecastOf(t, rate);
  const x = [...samples.map((s) => (s.at - last.at) / 1000), end], none = samples.map(() => null);
  const lines: Line[] = [
    { label: "measured", values: [...samples.map((s) => s.available), null], color: "line" },
    { label: "forecast", values: [...none.slice(1), last.available, value], color: "line", dashed: true },
    { label: "threshold", values: x.map(() => t.threshold), color: "alert" },
  ];
  return <figure class="forecast">
    <Chart label={`${t.signal} over time: ${trend(t, samples)}. ${amount(t, last.available)} available now, the threshold is ${amount(t, t.threshold)}.`} x={x} lines={lines} xLabel="Time from now" yLabel="Available"
      formatX={(n) => n === 0 ? "now" : (n > 0 ? "+" : "−") + duration(Math.abs(n))} formatY={(n) => amount(t, n)} maxY={Math.max(...samples.map((s) => s.available), value)} mark={0} stepsX={times} stepsY={inBytes(t) ? binaries : decimals} />
    <figcaption aria-hidden="true"><span class="key line" /> measured <span class="key dashed" /> forecast <span class="key alert" /> threshold</figcaption>
  </figure>;
}
