import { useMemo } from "preact/hooks";
import { newColoring } from "./colors";
import { FleetCanvas } from "./fleet-canvas";
import { Group, groupCells, isTainted, usable } from "./fleet-layout";
import { timeOf } from "./history";
import { Node, parseSelector, Pod } from "./model";
import type { ViewProps } from "./page";
import { Command, Errors, Field, Legend, Link, Select, Table } from "./parts";
import { formatAmount, plural } from "./quantity";
import { setOption, viewURL, withOption } from "./route";
import { byNode, useFleet } from "./store";

const maxRows = 200;

export function FleetView({ route, namespace }: ViewProps) {
  const fleet = useFleet(namespace, timeOf(route));
  const option = (name: string, none = "") => route.options.get(name) ?? none;
  const resource = option("resource", "cpu"), color = option("color", "priority"), label = option("group"), selector = option("selector"), selected = option("node"), zoom = /^(24|60|120)$/.test(option("zoom")) ? option("zoom") : "";
  const test = useMemo(() => parseSelector(selector), [selector]);
  const podsOf = useMemo(() => byNode(fleet.pods), [fleet]);
  const nodes = useMemo(() => allNodes(fleet.nodes, podsOf).filter((n) => test.matches(n.labels)), [fleet, podsOf, test]);
  const groups = useMemo(() => groupCells(nodes, podsOf, resource, label), [nodes, podsOf, resource, label]);
  const shown = useMemo(() => nodes.flatMap((n) => podsOf.get(n.name) ?? []), [nodes, podsOf]);
  const coloring = useMemo(() => newColoring(color, shown, fleet.nodes), [color, shown, fleet]);
  const resources = useMemo(() => [...new Set(["cpu", "memory", "pods", ...[...fleet.nodes.values()].flatMap((n) => Object.keys(n.allocatable))])], [fleet]);
  const labels = useMemo(() => [...new Set([...fleet.nodes.values()].flatMap((n) => Object.keys(n.labels)))].sort(), [fleet]);
  const cell = useMemo(() => groups.flatMap((g) => g.cells).find((c) => c.node.name === selected), [groups, selected]);
  const pending = useMemo(() => { let n = 0; for (const p of fleet.pods.values()) if (!p.node) n++; return n; }, [fleet]);
  return <>
    <h1>Where is room?</h1>
    <Errors list={[...fleet.errors, test.error]} />
    <Room groups={groups} resource={resource} loaded={fleet.loaded} pending={pending} namespace={namespace} />
    <form class="options" onSubmit={(e) => e.preventDefault()} aria-label="Options of the fleet">
      <Select name="resource" label="Resource" value={resource} none="cpu" values={resources.map((r) => [r, r])} />
      <Select name="color" label="Color by" value={color} none="priority" values={[["priority", "priority"], ["owner", "owner"], ["qos", "QoS class"], ["pressure", "node pressure"]]} />
      <Select name="zoom" label="Cells" value={zoom} none="" values={[["", "fit"], ["24", "small"], ["60", "medium"], ["120", "large"]]} />
      <Field name="group" label="Group by label" value={label} hint="none" list={labels} />
      <Field name="selector" label="Node selector" value={selector} hint="all nodes" error={test.error} />
    </form>
    <Legend coloring={coloring} note="empty: free · hatched: cordoned or not ready · dashed: tainted · !: pressure" />
    {nodes.length > 0 && <FleetCanvas groups={groups} resource={resource} coloring={coloring} selected={selected} select={(n) => setOption("node", n)} version={fleet.version} size={Number(zoom)} />}
    <div id="selected-node" aria-live="polite">{cell && <NodeDetails node={cell.node} pods={cell.pods} used={cell.used} free={cell.free} resource={resource} />}</div>
    <details><summary>The nodes as a table</summary><NodeTable groups={groups} resource={resource} /></details>
    {cell ? <Command words={["berth", "explain", "node"]} operands={[cell.node.name]} /> : <Command words={["berth", "kubectl", "describe", "nodes"]} options={selector ? ["-l", selector] : []} />}
  </>;
}

// Room shows the free capacity in one sentence.
function Room({ groups, resource, loaded, pending, namespace }: { groups: Group[]; resource: string; loaded: boolean; pending: number; namespace: string }) {
  const cells = groups.flatMap((g) => g.cells), open = cells.filter((c) => usable(c.node));
  if (!loaded) return <p role="status">Loading…</p>;
  if (cells.length === 0) return <p role="status">No nodes match.</p>;
  const capacity = cells.reduce((n, c) => n + (c.node.allocatable[resource] ?? 0), 0), free = open.reduce((n, c) => n + c.free, 0);
  const tainted = open.filter((c) => isTainted(c.node)), freeTainted = tainted.reduce((n, c) => n + c.free, 0);
  const candidates = open.length > tainted.length ? open.filter((c) => !isTainted(c.node)) : open;
  const best = candidates.reduce((a, c) => (a && a.free >= c.free ? a : c), candidates[0]);
  const closed = cells.length - open.length, underPressure = cells.filter((c) => c.node.pressure.length).length;
  return <p class="answer">
    <strong>{formatAmount(resource, free)} of {formatAmount(resource, capacity)} {resource} free</strong> on {plural(open.length, "node")}
    {best && <>; most on <strong>{best.node.name}</strong> with {formatAmount(resource, best.free)}</>}.
    {" "}{freeTainted > 0 && <>{formatAmount(resource, freeTainted)} of it is on {plural(tainted.length, "node")} with taints. </>}
    {closed > 0 && <>{plural(closed, "node takes", "nodes take")} no new pods. </>}
    {underPressure > 0 && <>{plural(underPressure, "node is", "nodes are")} under pressure. </>}
    {pending > 0 && <><Link to={viewURL("queue")}>{plural(pending, "pod waits", "pods wait")} for a node</Link>. </>}
    {namespace && <span class="muted">Only pods of namespace {namespace} are counted.</span>}
  </p>;
}

function NodeDetails({ node, pods, used, free, resource }: { node: Node; pods: Pod[]; used: number; free: number; resource: string }) {
  const size = (p: Pod) => p.requests[resource] ?? 0;
  const notes = [!node.known && "not readable", node.known && !node.ready && "not ready", node.cordoned && "cordoned", ...node.pressure, ...node.taints].filter(Boolean);
  const list = [...pods].sort((a, b) => size(b) - size(a) || a.key.localeCompare(b.key));
  return <section aria-label={"Node " + node.name}>
    <h2>{node.name}</h2>
    <p>{formatAmount(resource, used)} of {formatAmount(resource, node.allocatable[resource] ?? 0)} {resource} requested by {plural(pods.length, "pod")}, {formatAmount(resource, free)} free.{notes.length > 0 && " " + notes.join(", ") + "."} <Link to={viewURL("node", node.name)}>Pressure</Link> · <Link to={withOption(viewURL("drain"), "nodes", node.name)}>What if it is drained?</Link></p>
    {list.length > 0 && <Table label={"Pods on " + node.name} head={["Pod", resource, "Priority", "QoS", "Owner"]}>
      {list.slice(0, maxRows).map((p) => <tr key={p.key}><td><Link to={viewURL("pod", p.namespace, p.name)}>{p.key}</Link></td><td class="number">{formatAmount(resource, size(p))}</td><td class="number">{p.priority}</td><td>{p.qos}</td><td>{p.owner}</td></tr>)}
    </Table>}
  </section>;
}

function NodeTable({ groups, resource }: { groups: Group[]; resource: string }) {
  const cells = groups.flatMap((g) => g.cells.map((c) => ({ group: g.name, ...c })));
  return <>
    <Table label="Nodes" head={["Node", "Group", "Free " + resource, "Requested", "Pods", "State"]}>
      {cells.slice(0, maxRows).map((c) => <tr key={c.node.name}><td>{c.node.name}</td><td>{c.group}</td><td class="number">{formatAmount(resource, c.free)}</td><td class="number">{formatAmount(resource, c.used)}</td><td class="number">{c.pods.length}</td>
        <td>{[!c.node.ready && "not ready", c.node.cordoned && "cordoned", isTainted(c.node) && "tainted", ...c.node.pressure].filter(Boolean).join(", ") || "ready"}</td></tr>)}
    </Table>
    {cells.length > maxRows && <p class="muted">The first {maxRows} of {cells.length}. Use the node selector to see others.</p>}
  </>;
}

// allNodes adds the nodes of pods, for a user who may read pods but not nodes.
function allNodes(nodes: Map<string, Node>, podsOf: Map<string, Pod[]>): Node[] {
  if (nodes.size > 0) return [...nodes.values()];
  return [...podsOf.keys()].map((name) => ({ name, labels: {}, allocatable: {}, ready: true, cordoned: false, taints: [], pressure: [], known: false }));
}
