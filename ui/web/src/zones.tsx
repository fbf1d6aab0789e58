import { historyPath, timeOf } from "./history";
import type { ViewProps } from "./page";
import { Bar, Command, Errors, Link, Table } from "./parts";
import { formatAge, plural, shownTime } from "./quantity";
import { viewURL } from "./route";
import { useLive } from "./store";

// The output of `berth zones -o json`.
interface UnreadyNode { name: string; ready: string; since?: string; tainted?: string; queuePosition?: number; taintAt?: string }
interface Zone { name: string; state: string; nodes: number; ready: number; taintIntervalSeconds: number; reason?: string; lastTaint?: string; unreadyNodes?: UnreadyNode[] }
interface Zones { allUnready: boolean; zones: Zone[] }

const maxNodes = 100;
const interval = 3; // in seconds

export function ZonesView({ namespace, route }: ViewProps) {
  const at = timeOf(route);
  const { value: x, error } = useLive<Zones>(historyPath("zones", at), { at }, at ? 0 : interval);
  const zones = [...(x?.zones ?? [])].sort((a, b) => (b.nodes - b.ready) - (a.nodes - a.ready) || a.name.localeCompare(b.name, "en", { numeric: true }));
  return <>
    <h1>Which nodes are not ready, and when are their pods evicted?</h1>
    <Errors list={[error]} />
    {!x && !error && <p role="status">Loading…</p>}
    {x && <Summary x={x} />}
    {zones.length > 0 && <ul class="cards" aria-label="Zones">{zones.map((z) => <li key={z.name}><ZoneCard z={z} /></li>)}</ul>}
    {namespace && <p class="muted">Nodes have no namespace: all are shown.</p>}
    <Command words={["berth", "zones"]} />
  </>;
}

// unlisted returns the number of nodes of a zone that are not ready, but neither tainted nor queued for a taint: they have never reported, or
// stopped to report a short time ago.
function unlisted(z: Zone): number { return Math.max(0, z.nodes - z.ready - (z.unreadyNodes ?? []).filter((n) => n.ready !== "True").length); }

function Summary({ x }: { x: Zones }) {
  const nodes = x.zones.reduce((n, z) => n + z.nodes, 0), untainted = x.zones.reduce((n, z) => n + unlisted(z), 0), listed = x.zones.reduce((n, z) => n + (z.unreadyNodes ?? []).length, 0);
  const unready = listed + untainted;
  const closed = x.zones.filter((z) => z.taintIntervalSeconds === 0 && (z.unreadyNodes ?? []).length > 0);
  const waiting = x.zones.flatMap((z) => (z.unreadyNodes ?? []).filter((n) => n.queuePosition)).length;
  if (nodes === 0 && unready === 0) return <p class="answer"><strong>There are no nodes.</strong></p>;
  if (unready === 0) return <p class="answer"><strong>All nodes are ready:</strong> {plural(nodes, "node")} in {plural(x.zones.length, "zone")}.</p>;
  return <p class="answer">
    <strong>{plural(unready, "node is", "nodes are")} not ready.</strong>
    {" "}{x.allUnready ? <span class="none">No zone has a ready node, so no pod is evicted: the cause is probably the control plane.</span>
      : <>{closed.map((z) => <span key={z.name} class="none">No pod is evicted in {zoneName(z)}: {z.reason}. </span>)}{waiting > 0 && closed.length === 0 && `${plural(waiting, "node waits", "nodes wait")} for the eviction of ${waiting === 1 ? "its" : "their"} pods.`}{waiting === 0 && listed > 0 && "The pods of tainted nodes are evicted, apart from those that tolerate it."}</>}
    {untainted > 0 && ` ${plural(untainted, "node is", "nodes are")} not tainted yet: no pod is evicted from ${untainted === 1 ? "it" : "them"}.`}
  </p>;
}

function ZoneCard({ z }: { z: Zone }) {
  const list = z.unreadyNodes ?? [];
  return <>
    <div class="row"><strong>{zoneName(z)}</strong> <span class={"badge" + (z.state === "Normal" ? "" : " none")}>{z.state}</span> <span>{z.ready} of {plural(z.nodes, "node")} ready</span>
      <span class="muted">{z.taintIntervalSeconds > 0 ? `taints at most one node per ${seconds(z.taintIntervalSeconds)}` : `taints no node: ${z.reason ?? ""}`}</span></div>
    {z.ready < z.nodes && <Bar label={`${z.nodes - z.ready} of ${z.nodes} nodes are not ready`} used={z.nodes - z.ready} capacity={z.nodes} mark={0} />}
    {unlisted(z) > 0 && <div>{plural(unlisted(z), "node is", "nodes are")} not ready and not tainted yet.</div>}
    {list.length > 0 && <Table label={"Nodes that are not ready in " + zoneName(z)} head={["Node", "Ready", "For", "Eviction of its pods"]}>
      {list.slice(0, maxNodes).map((n) => <tr key={n.name}><td><Link to={viewURL("node", n.name)}>{n.name}</Link></td><td>{n.ready}</td><td class="number">{formatAge(n.since)}</td><td>{eviction(n)}</td></tr>)}
    </Table>}
    {list.length > maxNodes && <p class="muted">The first {maxNodes} of {list.length}.</p>}
  </>;
}

function eviction(n: UnreadyNode): string {
  if (!n.queuePosition) return n.tainted ? `began ${formatAge(n.tainted)} ago` : "began";
  if (!n.taintAt) return `position ${n.queuePosition}, not before the rate changes`;
  const wait = Date.parse(n.taintAt) - shownTime();
  return `position ${n.queuePosition}, ${wait > 0 ? "in " + formatAge(shownTime() - wait) : "now"}`;
}

function seconds(n: number): string { return n < 120 ? n + " s" : Math.round(n / 60) + " min"; }

// zoneName returns the zone, with its region if it has one.
function zoneName(z: Zone): string { return z.name.replace(/^\//, "") || "nodes without a zone"; }
