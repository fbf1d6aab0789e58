import { useEffect, useState } from "preact/hooks";
import { historyPath, timeOf } from "./history";
import type { ViewProps } from "./page";
import { Command, Errors, Link, Select } from "./parts";
import { Explanation, getExplanation } from "./pod";
import { formatAge, plural } from "./quantity";
import { viewURL } from "./route";
import { useLive } from "./store";

interface Pending { pod: string; scheduler: string; priority: number; state: string; created?: string; since?: string; nominatedNode?: string; message?: string; gates?: string[] }

const maxRows = 500;
const numOpen = 3; // pods whose events are shown at once
const interval = 3; // in seconds
const states = ["nominated", "new", "error", "unschedulable", "gated"];

export function QueueView({ route, namespace }: ViewProps) {
  const at = timeOf(route);
  const { value, error } = useLive<{ pods: Pending[] }>(historyPath("queue", at), { namespace, at }, at ? 0 : interval);
  const state = route.options.get("state") ?? "";
  const all = value?.pods ?? [], pods = all.filter((p) => !state || p.state === state);
  const first = pods.filter((p) => p.state === "unschedulable").slice(0, numOpen);
  const parts = states.map((s) => [s, all.filter((p) => p.state === s).length] as const).filter((e) => e[1] > 0);
  return <>
    <h1>Which pods are pending, and why?</h1>
    <Errors list={[error]} />
    {value && <p class="answer"><strong>{all.length ? plural(all.length, "pod waits", "pods wait") + " for a node" : "No pod waits for a node"}</strong>{parts.length > 0 && ": " + parts.map(([s, n]) => `${n} ${s}`).join(", ")}.</p>}
    {!value && !error && <p role="status">Loading…</p>}
    <form class="options" onSubmit={(e) => e.preventDefault()}><Select name="state" label="State" value={state} none="" values={[["", "all"], ...states.map((s) => [s, s] as [string, string])]} /></form>
    {pods.length > 0 && <ol class="cards" aria-label="Pending pods in scheduling order">{pods.slice(0, maxRows).map((p) => <Entry key={p.pod + at} p={p} open={first.includes(p)} />)}</ol>}
    {pods.length > maxRows && <p class="muted">The first {maxRows} of {pods.length}. Choose a state or a namespace to see others.</p>}
    <Command words={["berth", "queue"]} options={[...(namespace ? ["-n", namespace] : []), "--all"]} />
  </>;
}

function Entry({ p, open }: { p: Pending; open: boolean }) {
  const [namespace, name] = p.pod.split("/") as [string, string];
  return <li>
    <div class="row"><Link to={viewURL("pod", namespace, name)}>{p.pod}</Link> <span class={"badge " + p.state}>{p.state}</span> <span class="muted">priority {p.priority} · waits {formatAge(p.created)}{p.since && p.since !== p.created && `, ${p.state} for ${formatAge(p.since)}`}</span></div>
    <div>{waitsFor(p)}</div>
    {p.state === "unschedulable" && <Triggers namespace={namespace} name={name} open={open} />}
  </li>;
}

function waitsFor(p: Pending): string {
  if (p.state === "gated") return "Waits until its scheduling gates are removed: " + (p.gates ?? []).join(", ");
  if (p.state === "nominated") return "Waits for the end of victims on " + p.nominatedNode;
  if (p.state === "new") return "Waits for the first attempt of " + p.scheduler;
  return (p.message ?? "").split(" preemption: ")[0]!; // the pod view shows the preemption
}

// Triggers shows which events trigger another attempt. It is open for the first pods. For others, it loads them when it is opened, because
// the server evaluates all nodes.
function Triggers({ namespace, name, open }: { namespace: string; name: string; open: boolean }) {
  const [shown, setShown] = useState(open);
  if (open) return <section aria-label={`Events that requeue ${namespace}/${name}`}><span class="muted">Events that requeue the pod</span><Events namespace={namespace} name={name} /></section>;
  return <details onToggle={(e) => { if (e.currentTarget.open) setShown(true); }}><summary>Events that requeue the pod</summary>{shown && <Events namespace={namespace} name={name} />}</details>;
}

function Events({ namespace, name }: { namespace: string; name: string }) {
  const [x, setX] = useState<Explanation>();
  const [error, setError] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    getExplanation(namespace, name, stop.signal).then(setX, (e) => { if (!stop.signal.aborted) setError(e instanceof Error ? e.message : String(e)); });
    return () => stop.abort();
  }, [namespace, name]);
  return <>
    <Errors list={[error]} />
    {!x && !error && <p role="status">Evaluating all nodes…</p>}
    {x && <ul>{(x.requeueTriggers ?? []).map((t) => <li key={t.plugin}>{t.plugin}: {(t.events ?? []).join(", ") || "any change"}</li>)}
      {x.suggestions?.[0] && <li>Smallest change: {x.suggestions[0].message}</li>}
      {!x.requeueTriggers?.length && <li>Nothing keeps it from a node now.</li>}</ul>}
  </>;
}
