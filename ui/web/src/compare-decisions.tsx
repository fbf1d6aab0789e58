import { useState } from "preact/hooks";
import { historyPath } from "./history";
import { Command, Errors, Select, Table } from "./parts";
import { Explanation, preemptionTexts, Verdict } from "./pod";
import { plural } from "./quantity";
import { CommandLine } from "./shell";
import { useLive } from "./store";

const maxRows = 100;
const every = 10; // seconds, for the present

// CompareDecisions compares the decisions about a pod in the states of two times. "" is the present.
export function CompareDecisions({ pod, at, other }: { pod: string; at: string; other: string }) {
  const [namespace = "", name = ""] = pod.split("/");
  const a = useLive<Explanation>(historyPath("pod", at), { namespace, name, at }, at ? 0 : every);
  const b = useLive<Explanation>(historyPath("pod", other), { namespace, name, at: other }, other ? 0 : every);
  const times = [...new Set([...(a.value?.decisions ?? []), ...(b.value?.decisions ?? [])].map((d) => JSON.stringify([d.time, d.action, d.node ?? ""])))].map((t) => JSON.parse(t) as string[]).sort((x, y) => (x[0]! < y[0]! ? 1 : -1));
  const choices = (chosen: string): [string, string][] => [["", "the present"], ...times.map(([time, action, node]) => [time!, `${formatTime(time!)}: ${action} ${node}`] as [string, string]),
    ...(chosen && !times.some((t) => t[0] === chosen) ? [[chosen, formatTime(chosen)] as [string, string]] : [])];
  return <>
    <form class="options" onSubmit={(e) => e.preventDefault()} aria-label="Decisions to compare">
      <Select name="at" label="A" value={at} none="" values={choices(at)} />
      <Select name="with" label="B" value={other} none="" values={choices(other)} />
    </form>
    <Errors list={[a.error && "A: " + a.error, b.error && "B: " + b.error]} />
    {!(a.value || a.error) || !(b.value || b.error) ? <p role="status">Evaluating all nodes…</p> : null}
    {a.value && b.value && <Comparison a={a.value} b={b.value} />}
    <Command {...command(pod, at)} />
    <Command {...command(pod, other)} />
  </>;
}

function command(pod: string, at: string): CommandLine { return { words: ["berth", "explain", "pod"], operands: [pod], options: ["--nodes", ...(at ? ["--at", at] : [])] }; }

function formatTime(time: string): string { return Date.parse(time) ? new Date(time).toLocaleString("en-GB") : time; }

interface Row { name: string; a?: Verdict; b?: Verdict; differs: boolean; plugins: Set<string> }

// differences pairs the nodes of two decisions, those that differ first.
function differences(a: Explanation, b: Explanation): Row[] {
  const nodes = new Map<string, Row>();
  const row = (name: string) => nodes.get(name) ?? nodes.set(name, { name, differs: false, plugins: new Set() }).get(name)!;
  for (const n of a.nodes ?? []) row(n.name).a = n;
  for (const n of b.nodes ?? []) row(n.name).b = n;
  for (const r of nodes.values()) {
    for (const p of new Set([...Object.keys(r.a?.scores ?? {}), ...Object.keys(r.b?.scores ?? {})])) if (score(r.a, p) !== score(r.b, p)) r.plugins.add(p);
    r.differs = verdict(r.a) !== verdict(r.b) || r.plugins.size > 0;
  }
  return [...nodes.values()].sort((x, y) => Number(y.differs) - Number(x.differs) || total(y) - total(x) || x.name.localeCompare(y.name, "en", { numeric: true }));
}

function total(r: Row): number { return Math.max(r.a?.feasible ? r.a.total ?? 0 : -1, r.b?.feasible ? r.b.total ?? 0 : -1); }
function score(v: Verdict | undefined, plugin: string): number | undefined { return v?.feasible ? v.scores?.[plugin] ?? 0 : undefined; }

// verdict is the total score, or why the node rejects the pod.
function verdict(v: Verdict | undefined): string {
  if (!v) return "no such node";
  if (v.feasible) return String(v.total ?? 0);
  return `${v.plugin}: ${(v.numbers ?? []).map((n) => n.message).join("; ") || (v.reasons ?? []).join("; ")}`;
}

function chosen(x: Explanation): string { return x.choice ?? ""; }

function decision(x: Explanation): string {
  const feasible = (x.nodes ?? []).filter((n) => n.feasible).length;
  return chosen(x) ? `${chosen(x)}, of ${plural(feasible, "node")}` : x.nodes?.length ? `no node of ${x.nodes.length}` : x.message || x.outcome || "the pod does not exist";
}

function Comparison({ a, b }: { a: Explanation; b: Explanation }) {
  const [all, setAll] = useState(false);
  const rows = differences(a, b), changed = rows.filter((r) => r.differs).length;
  const plugins = [...new Set(rows.flatMap((r) => [...r.plugins]))].sort();
  const shown = all ? rows : rows.slice(0, maxRows);
  return <>
    <p class="answer"><strong>{chosen(a) === chosen(b) ? `Both choose ${chosen(a) || "no node"}.` : `A chooses ${chosen(a) || "no node"}, B chooses ${chosen(b) || "no node"}.`}</strong>
      {" "}{changed ? `${changed} of ${plural(rows.length, "node")} ${changed === 1 ? "differs" : "differ"}` : `No node differs, of ${rows.length}`}{plugins.length > 0 && `, by ${plugins.join(", ")}`}.</p>
    <Table label="Decisions" head={["", "A", "B", ""]}>
      {([["Choice", decision(a), decision(b)], ["Bound to", a.node ?? "no node", b.node ?? "no node"], ["Preemption", preemption(a), preemption(b)]] as const).map(([title, x, y]) =>
        <tr key={title}><th scope="row">{title}</th><td>{x}</td><td>{y}</td><td>{x !== y && <Mark />}</td></tr>)}
    </Table>
    {rows.length > 0 && <section><h2>Nodes</h2><Table label="Nodes compared" head={["", "Node", "A", "B", ...plugins.map((p) => p + " A → B")]}>
      {shown.map((r) => <tr key={r.name}><td>{r.differs && <Mark />}</td>
        <td>{r.name}{r.name === chosen(a) && <strong> (A)</strong>}{r.name === chosen(b) && <strong> (B)</strong>}</td>
        <td>{verdict(r.a)}</td><td>{verdict(r.b)}</td>
        {plugins.map((p) => <td key={p} class="number">{r.plugins.has(p) ? <strong>{score(r.a, p) ?? "–"} → {score(r.b, p) ?? "–"}</strong> : score(r.a, p) ?? "–"}</td>)}</tr>)}
    </Table>
      {!all && rows.length > maxRows && <button type="button" onClick={() => setAll(true)}>Show all {rows.length} nodes</button>}</section>}
  </>;
}

function preemption(x: Explanation): string {
  const p = x.preemption;
  return p ? (preemptionTexts[p.outcome] ?? p.outcome) + (p.node ? " on " + p.node : "") + (p.victims?.length ? ": " + p.victims.join(", ") : "") : "none";
}

// Mark marks a difference without a color.
export function Mark() { return <strong class="differs" title="differs">≠<span class="hidden"> differs</span></strong>; }
