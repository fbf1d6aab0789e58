import { useState } from "preact/hooks";
import { getJSON } from "./client";
import type { ViewProps } from "./page";
import { Command, Errors, Link, Table } from "./parts";
import { formatAge, plural } from "./quantity";
import { historyPath, timeOf } from "./history";
import { currentRoute, navigate, viewURL } from "./route";
import { useLive } from "./store";
import type { Suggestion } from "./suggestion-state";
import { Suggestions } from "./suggestions";

export interface Verdict { name: string; feasible: boolean; plugin?: string; code?: string; reasons?: string[]; numbers?: { message: string }[]; scores?: Record<string, number>; total?: number }
export interface Explanation {
  pod: string; node?: string; profile?: string; outcome?: string; message?: string; nominatedNode?: string; problems?: string[]; extendersNotCalled?: boolean;
  preEnqueue?: Verdict; preFilter?: Verdict; nodes?: Verdict[]; top?: string[]; choice?: string;
  requeueTriggers?: { plugin: string; events?: string[] }[];
  preemption?: { outcome: string; node?: string; victims?: string[]; error?: string };
  suggestions?: Suggestion[];
  decisions?: { time: string; action: string; node?: string; message?: string; outcome?: string; victims?: string[] }[];
  displacements?: { time: string; cause: string; node?: string; message?: string }[];
}

const maxNodes = 100;

export function getExplanation(namespace: string, name: string, signal?: AbortSignal): Promise<Explanation> {
  const at = timeOf(currentRoute());
  return getJSON(historyPath("pod", at), { namespace, name, at }, signal);
}

export function PodView({ route }: ViewProps) {
  const [namespace = "", name = ""] = route.parts;
  const open = (e: Event) => {
    e.preventDefault();
    const text = ((e.currentTarget as HTMLFormElement).elements.namedItem("pod") as HTMLInputElement).value.trim();
    const [a, b] = text.split("/");
    if (a) navigate(b ? viewURL("pod", a, b) : viewURL("pod", "default", a));
  };
  return <>
    <h1>Why this node, or why none?</h1>
    <form class="options" onSubmit={open}>
      <label>Pod <input key={name} name="pod" defaultValue={name ? namespace + "/" + name : ""} placeholder="namespace/name" size={40} spellcheck={false} autocomplete="off" /></label>
      <button type="submit">Explain</button>
    </form>
    {name ? <Explained namespace={namespace} name={name} at={timeOf(route)} options={route.options} /> : <p>Enter a pod, or choose one in the <Link to={viewURL("queue")}>queue</Link> or on a node of the <Link to={viewURL("fleet")}>fleet</Link>.</p>}
  </>;
}

function Explained({ namespace, name, at, options }: { namespace: string; name: string; at: string; options: URLSearchParams }) {
  const { value: x, error } = useLive<Explanation>(historyPath("pod", at), { namespace, name, at }, at ? 0 : 10);
  return <>
    <Errors list={[error]} />
    {!x && !error && <p role="status">Evaluating all nodes…</p>}
    {x && <>
      <Summary x={x} />
      {x.suggestions && <Suggestions pod={x.pod} list={x.suggestions} options={options} at={at} />}
      <Triggers x={x} />
      <Nodes x={x} />
      <History x={x} />
    </>}
    <Command words={["berth", "explain", "pod"]} operands={[namespace + "/" + name]} options={["--nodes", ...(at ? ["--at", at] : [])]} />
  </>;
}

function Summary({ x }: { x: Explanation }) {
  const nodes = x.nodes ?? [], feasible = nodes.filter((n) => n.feasible).length;
  const blocked = x.preEnqueue ?? x.preFilter;
  return <div class="answer">
    {x.node ? <p><strong>{x.pod} is on {x.node}.</strong> If it were not bound, {x.choice === x.node ? "the scheduler would choose the same node" : x.choice ? `the scheduler would choose ${x.choice} now` : "no node would accept it now"}; {feasible} of {plural(nodes.length, "node")} would accept it.</p>
      : x.outcome === "scheduled" ? <p><strong>{x.pod} fits on {plural(feasible, "node")}.</strong> The scheduler chooses {x.choice} next.</p>
        : x.outcome ? <p><strong>{x.pod} has no node: {nodes.length ? `none of ${plural(nodes.length, "node")} accepts it` : x.outcome}.</strong> {x.message}</p>
          : <p><strong>{x.pod} no longer exists.</strong></p>}
    {blocked && !x.node && <p>{blocked.plugin}: {(blocked.numbers ?? []).map((n) => n.message).join("; ") || (blocked.reasons ?? []).join("; ")}</p>}
    {!x.node && nodes.length > 0 && feasible === 0 && <Rejections nodes={nodes} />}
    {x.nominatedNode && <p>Nominated for {x.nominatedNode}: it waits until the victims there have ended.</p>}
    {x.preemption && !x.node && <p>Preemption: {preemptionTexts[x.preemption.outcome] ?? x.preemption.outcome}{x.preemption.node && ` on ${x.preemption.node}`}{x.preemption.victims?.length ? `: ${x.preemption.victims.join(", ")}` : ""}. {x.preemption.error}</p>}
    {x.extendersNotCalled && <p>Scheduler extenders were not called; they may decide differently.</p>}
    <Errors list={x.problems ?? []} />
  </div>;
}

export const preemptionTexts: Record<string, string> = {
  notTried: "not tried", policyNever: "the pod's policy is Never", victimsTerminating: "victims are terminating", noCandidates: "no pods of lower priority can make room", nominated: "possible", error: "failed",
};

// Rejections counts the nodes by plugin and reason, the most frequent first.
function Rejections({ nodes }: { nodes: Verdict[] }) {
  const counts = new Map<string, number>();
  for (const n of nodes) if (!n.feasible) {
    const reason = `${n.plugin}: ${(n.reasons ?? []).join(", ")}`;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return <ul>{[...counts].sort((a, b) => b[1] - a[1]).map(([reason, n]) => <li key={reason}>{plural(n, "node")} – {reason}</li>)}</ul>;
}

function Triggers({ x }: { x: Explanation }) {
  if (!x.requeueTriggers?.length) return null;
  return <section><h2>Events that requeue the pod</h2><ul>{x.requeueTriggers.map((t) => <li key={t.plugin}>{t.plugin}: {(t.events ?? []).join(", ") || "any change"}</li>)}</ul></section>;
}

// Nodes is the table of plugins by nodes: scores of feasible nodes, reasons of the others.
function Nodes({ x }: { x: Explanation }) {
  const [all, setAll] = useState(false);
  const nodes = x.nodes ?? [];
  if (nodes.length === 0) return null;
  const plugins = [...new Set(nodes.flatMap((n) => Object.keys(n.scores ?? {})))].sort();
  const sorted = [...nodes].sort((a, b) => Number(b.feasible) - Number(a.feasible) || (b.total ?? 0) - (a.total ?? 0) || Number(b.name === x.choice) - Number(a.name === x.choice) || a.name.localeCompare(b.name, "en", { numeric: true }));
  return <section><h2>Plugins by nodes</h2>
    <Table label="Plugins by nodes" head={["Node", "Total score", ...plugins, "Rejected by"]}>
      {sorted.slice(0, all ? undefined : maxNodes).map((n) => <tr key={n.name} class={n.name === x.node || n.name === x.choice ? "chosen" : ""}>
        <td>{n.name}{n.name === x.choice && " (choice)"}{n.name === x.node && n.name !== x.choice && " (bound)"}</td>
        <td class="number">{n.feasible ? n.total : "–"}</td>
        {plugins.map((p) => <td key={p} class="number">{n.feasible ? n.scores?.[p] ?? 0 : "–"}</td>)}
        <td>{!n.feasible && <>{n.plugin}: {(n.numbers ?? []).map((v) => v.message).join("; ") || (n.reasons ?? []).join("; ")}</>}</td>
      </tr>)}
    </Table>
    {!all && nodes.length > maxNodes && <button type="button" onClick={() => setAll(true)}>Show all {nodes.length} nodes</button>}
  </section>;
}

function History({ x }: { x: Explanation }) {
  const events = [...(x.decisions ?? []).map((d) => ({ decided: true, time: d.time, what: d.action + (d.outcome && d.outcome !== "Done" ? ": " + d.outcome : ""), node: d.node, message: [d.message, d.victims?.length ? "victims: " + d.victims.join(", ") : ""].filter(Boolean).join("; ") })),
    ...(x.displacements ?? []).map((d) => ({ decided: false, time: d.time, what: "displaced: " + d.cause, node: d.node, message: d.message }))].sort((a, b) => (a.time < b.time ? 1 : -1));
  if (events.length === 0) return null;
  return <section><h2>Past decisions</h2><Table label="Past decisions" head={["When", "What", "Node", "Message", ""]}>
    {events.slice(0, maxNodes).map((d, i) => <tr key={i}><td><time dateTime={d.time} title={d.time}>{formatAge(d.time)} ago</time></td><td>{d.what}</td><td>{d.node}</td><td>{d.message}</td>
      <td>{d.decided && <Link to={`/ui/compare?pod=${encodeURIComponent(x.pod)}&at=${encodeURIComponent(d.time)}`} label={`Compare the decision of ${d.time} with the present`}>Compare</Link>}</td></tr>)}
  </Table></section>;
}
