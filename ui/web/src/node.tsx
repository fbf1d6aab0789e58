import { useEffect, useMemo, useState } from "preact/hooks";
import { addSample, Sample } from "./forecast";
import { NodeDisk } from "./node-disk";
import { amount, Forecast, trend } from "./node-forecast";
import { Node } from "./model";
import { historyPath, timeOf } from "./history";
import type { ViewProps } from "./page";
import { Bar, Command, Errors, Link, Select, Table } from "./parts";
import { formatAge, plural } from "./quantity";
import { navigate, viewURL } from "./route";
import { useFleet, useLive } from "./store";

// The output of `berth explain node NAME --pressure -o json`.
interface Threshold { signal: string; resource: string; known: boolean; available: number; capacity: number; measured?: string; threshold: number; graceSeconds: number; metSince?: string }
interface Candidate { pod: string; priority: number; known: boolean; used: number; requested: number; reason: string; exempt?: boolean; terminating?: boolean; evictable: boolean }
interface Report { node: string; time: string; thresholds: Threshold[]; resources: { signal: string; resource: string; pods: Candidate[] }[] }

const maxRows = 50;
const numShown = 3; // signals that are always shown
const interval = 2; // in seconds

export function NodeView({ route }: ViewProps) {
  const [name = ""] = route.parts;
  const open = (e: Event) => {
    e.preventDefault();
    const text = ((e.currentTarget as HTMLFormElement).elements.namedItem("node") as HTMLInputElement).value.trim();
    if (text) navigate(viewURL("node", text));
  };
  return <>
    <h1>Is the node under pressure, and which pod is evicted next?</h1>
    <form class="options" onSubmit={open}>
      <label>Node <input key={name} name="node" defaultValue={name} placeholder="name" spellcheck={false} autocomplete="off" /></label>
      <button type="submit">Show</button>
    </form>
    {name ? <NodeState key={name} name={name} signal={route.options.get("signal") ?? ""} at={timeOf(route)} /> : <AllNodes at={timeOf(route)} />}
  </>;
}

// AllNodes lists the nodes, those under pressure first.
function AllNodes({ at }: { at: string }) {
  const fleet = useFleet("", at);
  const nodes = useMemo(() => [...fleet.nodes.values()].sort((a, b) => b.pressure.length - a.pressure.length || Number(a.ready) - Number(b.ready) || a.name.localeCompare(b.name, "en", { numeric: true })), [fleet]);
  const underPressure = nodes.filter((n) => n.pressure.length);
  return <>
    <Errors list={fleet.errors} />
    {!fleet.loaded && <p role="status">Loading…</p>}
    {fleet.loaded && <p class="answer"><strong>{underPressure.length ? `${plural(underPressure.length, "node is", "nodes are")} under pressure:` : `None of ${plural(nodes.length, "node")} is under pressure.`}</strong> {underPressure.slice(0, 5).map((n) => `${n.name} (${n.pressure.join(", ")})`).join(", ")}</p>}
    {nodes.length > 0 && <Table label="Nodes" head={["Node", "State"]}>{nodes.slice(0, 200).map((n) => <tr key={n.name}><td><Link to={viewURL("node", n.name)}>{n.name}</Link></td><td>{stateOf(n)}</td></tr>)}</Table>}
    <Command words={["berth", "kubectl", "get", "nodes"]} />
  </>;
}

function stateOf(n: Node): string { return [!n.ready && "not ready", n.cordoned && "cordoned", ...n.pressure].filter(Boolean).join(", ") || "no pressure"; }

function NodeState({ name, signal, at }: { name: string; signal: string; at: string }) {
  const { value: x, error } = useLive<Report>(historyPath("node/pressure", at), { name, at }, at ? 0 : interval);
  const [samples, setSamples] = useState<Record<string, Sample[]>>({});
  useEffect(() => {
    if (x && !at) setSamples((old) => Object.fromEntries(x.thresholds.filter((t) => t.known).map((t) => [t.signal, addSample(old[t.signal] ?? [], { at: Date.parse(x.time), available: t.available })])));
  }, [x, at]);
  const shownSamples = at ? undefined : samples; // a recorded report has no trend
  const sorted = [...(x?.thresholds ?? [])].sort((a, b) => margin(a) - margin(b));
  const shown = signal || sorted[0]?.signal || "", resource = x?.resources.find((r) => r.signal === shown) ?? x?.resources[0];
  return <>
    <Errors list={[error]} />
    {!x && !error && <p role="status">Requesting the report…</p>}
    {x && at && <p class="muted">The last recorded report of this node, from {new Date(x.time).toLocaleString("en-GB")}.</p>}
    {x && <Summary x={x} sorted={sorted} />}
    {x && <section><h2>Signals, the closest to its threshold first</h2>
      <Signals list={sorted.slice(0, numShown)} samples={shownSamples} />
      {sorted.length > numShown && <details><summary>{plural(sorted.length - numShown, "other signal")}</summary><Signals list={sorted.slice(numShown)} samples={shownSamples} /></details>}</section>}
    {x && resource && <section><h2>Which pod is evicted first for {resource.signal}?</h2>
      <form class="options" onSubmit={(e) => e.preventDefault()}><Select name="signal" label="Signal" value={resource.signal} none="" values={x.resources.map((r) => [r.signal, r.signal])} /></form>
      <Order pods={resource.pods} resource={resource.resource} /></section>}
    {at ? <p class="muted">What uses the disk is not recorded.</p> : <NodeDisk name={name} />}
    <Command words={["berth", "explain", "node"]} operands={[name]} options={["--pressure"]} />
  </>;
}

function Signals({ list, samples }: { list: Threshold[]; samples?: Record<string, Sample[]> }) {
  return <ul class="cards" aria-label="Eviction thresholds">{list.map((t) => <li key={t.signal + t.graceSeconds}><Signal t={t} samples={samples && (samples[t.signal] ?? [])} /></li>)}</ul>;
}

// margin returns how far a signal is above its threshold, relative to the capacity.
function margin(t: Threshold): number { return t.known ? (t.available - t.threshold) / Math.max(1, t.capacity) : Infinity; }

function Summary({ x, sorted }: { x: Report; sorted: Threshold[] }) {
  const met = sorted.filter((t) => t.metSince), closest = sorted.find((t) => t.known);
  const t = met[0] ?? closest, next = nextVictim(x, t?.signal);
  if (!t) return <p class="answer"><strong>The node measures no signal.</strong></p>;
  return <p class="answer">
    {met[0] ? <strong class="none">The threshold of {met[0].signal} has been met for {formatAge(met[0].metSince)}.</strong> : <><strong>No threshold is met.</strong> Closest: {t.signal}, {amount(t, t.available - t.threshold)} above its threshold.</>}
    {" "}{next ? <>{met[0] ? "Evicted next:" : "If it is met, evicted first:"} <strong>{next.pod}</strong> ({next.reason}).</> : "No pod may be evicted for it."}
  </p>;
}

function nextVictim(x: Report, signal?: string): Candidate | undefined { return x.resources.find((r) => r.signal === signal)?.pods.find((p) => p.evictable); }

function Signal({ t, samples }: { t: Threshold; samples?: Sample[] }) {
  if (!t.known) return <><strong>{t.signal}</strong> <span class="muted">is not measured</span></>;
  const used = t.capacity - t.available;
  return <>
    <div class="row"><strong>{t.signal}</strong> <span class={"badge" + (t.metSince ? " none" : "")}>{t.metSince ? "met for " + formatAge(t.metSince) : "not met"}</span>
      <span>{amount(t, t.available)} of {amount(t, t.capacity)} available</span>
      <span class="muted">threshold {amount(t, t.threshold)}, {t.graceSeconds ? `evicts after ${t.graceSeconds} s` : "evicts at once"}</span></div>
    <Bar label={`${amount(t, used)} of ${amount(t, t.capacity)} used; evicts above ${amount(t, t.capacity - t.threshold)}`} used={used} capacity={t.capacity} mark={t.capacity - t.threshold} />
    {samples && <div class="muted">{trend(t, samples)}</div>}
    {samples && <Forecast t={t} samples={samples} />}
  </>;
}

function Order({ pods, resource }: { pods: Candidate[]; resource: string }) {
  if (pods.length === 0) return <p>No pod runs on the node.</p>;
  const next = pods.find((p) => p.evictable);
  return <>
    <Table label="Order of eviction" head={["", "Pod", "Used", "Requested", "Priority", "Reason"]}>
      {pods.slice(0, maxRows).map((p, i) => { const [namespace, pod] = p.pod.split("/") as [string, string]; return <tr key={p.pod} class={p === next ? "chosen" : ""}><td class="number">{p === next ? "next" : i + 1}</td><td><Link to={viewURL("pod", namespace, pod)}>{p.pod}</Link></td>
        <td class="number">{p.known ? amount({ resource }, p.used) : "unknown"}</td><td class="number">{amount({ resource }, p.requested)}</td><td class="number">{p.priority}</td><td>{p.reason}{p.terminating && ", terminating"}</td></tr>; })}
    </Table>
    {pods.length > maxRows && <p class="muted">The first {maxRows} of {pods.length}.</p>}
  </>;
}
