import { timeOf } from "./history";
import type { ViewProps } from "./page";
import { Command, Errors, Link, Select } from "./parts";
import { formatAge, plural } from "./quantity";
import { viewURL } from "./route";
import { useLive } from "./store";
import { Timeline } from "./timeline";

interface PodRef { namespace: string; name: string; priority?: number }
interface Displacement {
  time: string; pod: PodRef; owner?: { kind: string; name: string }; node?: string; cause: string; message?: string; rule?: string; requestedBy?: string; preemptor?: PodRef; deleted?: string;
  budgets?: { name: string; before: number; after: number; overruled?: boolean }[]; replacement?: { name: string; node?: string; scheduled?: string; ready?: string }; reconstructed?: boolean;
}

const maxRows = 300;
const interval = 5; // in seconds

export function DisplacementsView({ route, namespace }: ViewProps) {
  const { value, error } = useLive<{ displacements: Displacement[] }>("/ui/api/displacements", { namespace }, interval);
  const cause = route.options.get("cause") ?? "";
  const at = timeOf(route), all = displacedBefore(value?.displacements ?? [], at), list = all.filter((d) => !cause || d.cause === cause);
  const causes = [...new Set(all.map((d) => d.cause))].sort();
  const broken = all.filter((d) => d.budgets?.some((b) => b.overruled)).length;
  return <>
    <h1>Which pods were displaced, and why?</h1>
    <Errors list={[error]} />
    {value && <p class="answer"><strong>{all.length ? plural(all.length, "pod was displaced", "pods were displaced") : "No pod was displaced"}</strong>
      {causes.length > 0 && ": " + causes.map((c) => `${all.filter((d) => d.cause === c).length} by ${c}`).join(", ")}. {broken > 0 && `${plural(broken, "displacement")} against a disruption budget.`}</p>}
    {!value && !error && <p role="status">Loading…</p>}
    <form class="options" onSubmit={(e) => e.preventDefault()}><Select name="cause" label="Cause" value={cause} none="" values={[["", "all"], ...[...new Set([...causes, ...(cause ? [cause] : [])])].map((c) => [c, c] as [string, string])]} /></form>
    {list.length > 0 && <Timeline label={`Timeline of ${plural(list.length, "displacement")}`} kinds={causes} end={Date.parse(at) || Date.now()} marks={list.map((d) => ({ time: d.time, kind: d.cause, text: `${clock(d.time)} ${d.pod.namespace}/${d.pod.name}: ${d.cause}` }))} />}
    {list.length > 0 && <ol class="cards time" aria-label="Displacements, newest first">{list.slice(0, maxRows).map((d) => <Entry key={d.pod.namespace + "/" + d.pod.name + d.time} d={d} />)}</ol>}
    {list.length > maxRows && <p class="muted">The newest {maxRows} of {list.length}.</p>}
    <Command words={["berth", "evictions"]} options={[...(namespace ? ["-n", namespace] : ["-A"]), ...(cause ? ["--cause", cause] : []), "--all"]} />
  </>;
}

function clock(time: string): string { return new Date(time).toLocaleTimeString("en-GB"); }

// displacedBefore returns the displacements up to a time, without what became known about their replacements later.
function displacedBefore(list: Displacement[], at: string): Displacement[] {
  const end = Date.parse(at);
  const later = (time?: string) => !time || Date.parse(time) > end;
  return at ? list.filter((d) => !later(d.time)).map((d) => (d.replacement && later(d.replacement.ready) ? { ...d, replacement: later(d.replacement.scheduled) ? undefined : { ...d.replacement, ready: undefined } } : d)) : list;
}

function Entry({ d }: { d: Displacement }) {
  const key = d.pod.namespace + "/" + d.pod.name;
  return <li>
    <div class="row"><time dateTime={d.time} title={d.time}>{formatAge(d.time)} ago</time> <span class="badge">{d.cause}</span> <Link to={viewURL("pod", d.pod.namespace, d.pod.name)}>{key}</Link> <span class="muted">priority {d.pod.priority ?? 0}{d.node && <> · from {d.node}</>}</span></div>
    <div>{d.preemptor ? <>Preempted for <Link to={viewURL("pod", d.preemptor.namespace, d.preemptor.name)}>{d.preemptor.namespace}/{d.preemptor.name}</Link> with priority {d.preemptor.priority ?? 0}</> : d.rule || d.message}{d.requestedBy && `, requested by ${d.requestedBy}`}{d.reconstructed && " (derived from events)"}</div>
    {(d.budgets ?? []).map((b) => <div key={b.name}>Budget {b.name}: {b.before} allowed before, {b.after} after{b.overruled && <strong> – overruled</strong>}</div>)}
    <div class="muted">{d.replacement ? <>Replaced by <Link to={viewURL("pod", d.pod.namespace, d.replacement.name)}>{d.replacement.name}</Link>{d.replacement.node ? ` on ${d.replacement.node}` : ", no node recorded yet"}{d.replacement.ready && `, ready after ${formatAge(d.time, Date.parse(d.replacement.ready))}`}</> : d.owner ? "No replacement recorded yet" : "No controller replaces it"}</div>
  </li>;
}
