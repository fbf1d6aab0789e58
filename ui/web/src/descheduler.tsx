import { Chart, decimals } from "./chart";
import { historyPath, timeOf } from "./history";
import { useKeyedState } from "./keyed-state";
import type { ViewProps } from "./page";
import { Command, Errors, Link, Table } from "./parts";
import { plural } from "./quantity";
import { setOption, viewURL } from "./route";
import { useLive } from "./store";

// The output of `berth descheduler --dry-run -o json`.
interface Move {
  pod: string; owner?: string; from: string; to?: string; strategy: string; profile: string; reason?: string; waitReason?: string;
  gain?: { metric: string; before: number; after: number }; budgets?: { name: string; before: number; after: number }[];
}
interface Report {
  skippedReason?: string; holdSupport?: { supported: boolean; reason?: string }; failedProfiles?: { profile: string; reason: string }[];
  moves: Move[]; refusals: { pod: string; node: string; strategy: string; reason: string; message: string }[]; refusalsByReason: Record<string, number>;
}

const maxRows = 300;
const maxRefusals = 50;
const interval = 60; // in seconds

export function DeschedulerView({ route, policyFile }: ViewProps) {
  const limit = /^\d+$/.test(route.options.get("max") ?? "") ? route.options.get("max")! : "";
  const at = timeOf(route), path = historyPath("descheduler", at), every = at ? 0 : interval;
  const all = useLive<Report>(path, { at }, every);
  const limited = useLive<Report>(limit ? path : "", { "max-evictions": limit, at }, every);
  const total = all.value?.moves.length ?? 0, x = limit ? limited.value : all.value;
  return <>
    <h1>Which moves does the descheduler plan?</h1>
    <Errors list={[all.error, limit ? limited.error : ""]} />
    {!x && !all.error && !limited.error && <p role="status">Planning…</p>}
    {x && <Summary x={x} total={total} />}
    {total > 0 && <Limit total={total} limit={limit} />}
    {all.value && x && <Frontier all={all.value.moves} shown={x.moves.length} />}
    {x && <Moves x={x} />}
    {x && <Refusals x={x} />}
    <Command words={["berth", "descheduler", "--dry-run"]} options={[...(limit ? ["--max-evictions", limit] : []), ...(policyFile ? ["--policy-config-file", policyFile] : [])]} />
  </>;
}

function Summary({ x, total }: { x: Report; total: number }) {
  const later = x.moves.filter((m) => m.waitReason).length, refused = Object.values(x.refusalsByReason).reduce((n, v) => n + v, 0);
  return <>
    <p class="answer">
      {x.skippedReason ? <strong>The descheduler would do nothing: {x.skippedReason}.</strong> : total === 0 && x.moves.length === 0 ? <strong>No move helps now.</strong>
        : <><strong>{plural(x.moves.length, "move")} of {total}</strong>{later > 0 && `, ${later} of them when a budget allows it`}.</>}
      {" "}{x.moves.length > 0 && gains(x.moves).map((g) => `${g.metric}: ${change(g)}`).join("; ") + "."}
      {refused > 0 && <span class="muted"> {plural(refused, "candidate")} would not be moved.</span>}
    </p>
    {(x.failedProfiles ?? []).map((p) => <p key={p.profile} class="error">Profile {p.profile} could not run: {p.reason}</p>)}
    {x.holdSupport && !x.holdSupport.supported && <p class="muted">The target nodes are not reserved: {x.holdSupport.reason}</p>}
  </>;
}

// Limit chooses the maximum number of evictions. The plan is computed again for each choice.
function Limit({ total, limit }: { total: number; limit: string }) {
  const chosen = limit === "" ? total : Math.min(total, Number(limit));
  const [shown, setShown] = useKeyedState(`${limit} ${total}`, chosen);
  return <div class="rounds"><label>At most <input type="range" name="max" min={0} max={total} value={shown} aria-valuetext={plural(shown, "eviction")}
    onInput={(e) => setShown(Number(e.currentTarget.value))} onChange={(e) => setOption("max", e.currentTarget.value, String(total))} /></label>
    <span aria-live="polite">{plural(shown, "eviction")}</span></div>;
}

interface Gains { metric: string; total: number; points: { moves: number; value: number }[] }

// gains returns by how much each strategy's metric falls over the moves. Lower is better.
function gains(moves: Move[]): Gains[] {
  const out = new Map<string, Gains>();
  moves.forEach((m, i) => {
    if (!m.gain) return;
    const name = `${m.strategy}, ${m.gain.metric}`;
    const g = out.get(name) ?? { metric: name, total: 0, points: [{ moves: 0, value: 0 }] };
    g.total += m.gain.before - m.gain.after;
    g.points.push({ moves: i + 1, value: g.total });
    out.set(name, g);
  });
  return [...out.values()];
}

function change(g: Gains): string { return g.total.toLocaleString("en") + " less"; }

// Frontier shows the total gain after each move.
function Frontier({ all, shown }: { all: Move[]; shown: number }) {
  const list = gains(all), x = Array.from({ length: all.length + 1 }, (_, i) => i);
  if (list.length === 0) return null;
  return <section><h2>Gain of each move</h2><div class="charts">{list.map((g) => <figure key={g.metric}>
    <figcaption>{g.metric}: {change(g)} with {plural(all.length, "move")}{shown < all.length && `, ${valueAfter(g, shown).toLocaleString("en")} with ${shown}`}</figcaption>
    <Chart label={`${g.metric} after each move: ${g.points.map((p) => `${p.moves}: ${p.value}`).join(", ")}`} x={x} lines={[{ label: g.metric, values: x.map((n) => valueAfter(g, n)), color: "line", stepped: true }]}
      xLabel="Moves" yLabel="Total gain" formatX={String} formatY={(n) => n.toLocaleString("en")} maxY={g.total} mark={shown} stepsX={decimals.filter((n) => n >= 1)} stepsY={decimals} />
  </figure>)}</div></section>;
}

// valueAfter returns the gain of the first moves.
function valueAfter(g: Gains, moves: number): number { return g.points.reduce((v, p) => p.moves <= moves ? p.value : v, 0); }

function Moves({ x }: { x: Report }) {
  if (x.moves.length === 0) return null;
  return <section><h2>Moves, in order</h2><Table label="Moves" head={["", "Pod", "From", "To", "Gain", "Budgets", "Strategy and reason"]}>
    {x.moves.slice(0, maxRows).map((m, i) => <tr key={m.pod}><td class="number">{i + 1}</td><td><PodLink name={m.pod} /></td><td>{m.from}</td><td>{m.to || "deleted"}</td>
      <td class="number">{m.gain ? `${m.gain.metric} ${m.gain.before} → ${m.gain.after}` : "–"}</td>
      <td>{(m.budgets ?? []).map((b) => <div key={b.name}>{b.name}: {b.before} → {b.after}</div>)}{m.waitReason && <div class="none">waits: {m.waitReason}</div>}</td>
      <td>{m.strategy}{m.reason && ": " + m.reason}</td></tr>)}
  </Table>{x.moves.length > maxRows && <p class="muted">The first {maxRows} of {x.moves.length}.</p>}</section>;
}

function Refusals({ x }: { x: Report }) {
  const reasons = Object.entries(x.refusalsByReason).sort((a, b) => b[1] - a[1]);
  if (reasons.length === 0) return null;
  return <section><h2>Why are other pods not moved?</h2>
    <ul>{reasons.map(([reason, n]) => <li key={reason}>{plural(n, "candidate")}: {reason}</li>)}</ul>
    <details><summary>The first candidates that are not moved</summary><Table label="Candidates that are not moved" head={["Pod", "Node", "Strategy", "Reason"]}>
      {x.refusals.slice(0, maxRefusals).map((r, i) => <tr key={i}><td><PodLink name={r.pod} /></td><td>{r.node}</td><td>{r.strategy}</td><td>{r.message || r.reason}</td></tr>)}</Table></details>
  </section>;
}

function PodLink({ name }: { name: string }) {
  const [namespace, pod] = name.split("/") as [string, string];
  return <Link to={viewURL("pod", namespace, pod)}>{name}</Link>;
}
