import { useMemo } from "preact/hooks";
import { FleetCanvas } from "./fleet-canvas";
import { groupCells } from "./fleet-layout";
import { Errors, Legend, Link, Select } from "./parts";
import { formatAmount, plural } from "./quantity";
import { setOption, viewURL } from "./route";
import { useFleet } from "./store";
import { groupSuggestions, stateAfter, Suggestion, suggestionColoring } from "./suggestion-state";

const numShown = 5; // changes that are always shown

// Suggestions lists what would make a pod schedulable. A button shows the result of a suggestion on the fleet; the URL has its message.
export function Suggestions({ pod, list, options, at }: { pod: string; list: Suggestion[]; options: URLSearchParams; at: string }) {
  const chosen = options.get("suggestion") ?? "", s = list.find((o) => o.message === chosen);
  const choose = (o: Suggestion) => setOption("suggestion", o === s ? "" : o.message);
  const groups = groupSuggestions(list), rest = groups.slice(numShown);
  const items = (some: Suggestion[][]) => some.map((group) => <li key={group[0]!.message}>
      {group[0]!.message} <span class="muted">(then it fits on {group[0]!.node}{untried(group) ? `; ${plural(untried(group), "similar node")} not tried` : ""})</span>
      {group.map((o, i) => <button key={o.message} type="button" aria-pressed={o === s} aria-label={(i ? "or like " + o.changes[0]!.node : "Show on the fleet") + ": " + o.message} onClick={() => choose(o)}>{i ? "or like " + o.changes[0]!.node : "Show on the fleet"}</button>)}
      {s && group.includes(s) && <Result pod={pod} s={s} at={at} resource={options.get("resource") ?? "cpu"} focused={options.get("node") ?? ""} />}
    </li>);
  return <section><h2>What would make it schedulable</h2>
    {list.length === 0 ? <p>No single change was found.</p> : <ol class="suggestions">{items(groups.slice(0, numShown))}</ol>}
    {rest.length > 0 && <details open={rest.some((g) => s && g.includes(s))}><summary>{plural(rest.length, "other change")}</summary><ol class="suggestions" start={numShown + 1}>{items(rest)}</ol></details>}
    {list.length > 0 && <p class="muted">Cheapest first. Each was tried on a copy of the cluster's state.</p>}
    {chosen && !s && <p role="status">The suggestion in this link no longer helps: {chosen}</p>}
  </section>;
}

function untried(group: Suggestion[]): number { return group.reduce((n, s) => n + (s.similarNodesNotTried ?? 0), 0); }

// Result shows the fleet after a suggestion.
function Result({ pod, s, at, resource, focused }: { pod: string; s: Suggestion; at: string; resource: string; focused: string }) {
  const fleet = useFleet("", at);
  const state = useMemo(() => stateAfter(fleet.nodes, fleet.pods, pod, s), [fleet, pod, s]);
  const groups = useMemo(() => groupCells(state.nodes, state.podsOf, resource, "", true), [state, resource]);
  const coloring = useMemo(() => suggestionColoring(state), [state]);
  const cells = groups.flatMap((g) => g.cells), target = cells.find((c) => c.node === state.node), shown = cells.find((c) => c.node.name === focused);
  return <section aria-label="Result on the fleet">
    <h3>After: {s.message}</h3>
    <Errors list={fleet.errors} />
    {!fleet.loaded && <p role="status">Loading…</p>}
    {target && state.pod && <p id="suggestion-result" role="status"><strong>{pod} runs on {s.node}</strong>{state.added && ", which is added"}: {formatAmount(resource, target.used)} of {formatAmount(resource, target.node.allocatable[resource] ?? 0)} {resource} requested by {plural(target.pods.length, "pod")}, {formatAmount(resource, target.free)} free.</p>}
    {fleet.loaded && !(target && state.pod) && <p role="status">The map cannot show it: {state.pod ? "the node" : "the pod"} is not readable.</p>}
    {state.removed.length > 0 && <p id="removed">Removed pods: {state.removed.map((g, i) => <span key={g.pod}>{i > 0 && ", "}<Link to={viewURL("pod", ...g.pod.split("/"))}>{g.pod}</Link> from {g.node} ({g.preempted ? "preempted" : "deleted"})</span>)}</p>}
    {state.smaller.size > 0 && <p class="muted">Any pods on the node may request less; the map takes it from the largest.</p>}
    <form class="options" onSubmit={(e) => e.preventDefault()}><Select name="resource" label="Resource" value={resource} none="cpu" values={[["cpu", "cpu"], ["memory", "memory"], ["pods", "pods"]]} /></form>
    {target && <>
      <Legend coloring={coloring} note="outlined: the selected node · hatched: cordoned or not ready" />
      <FleetCanvas groups={groups} resource={resource} coloring={coloring} selected={focused || s.node} select={(n) => setOption("node", n)} version={fleet.version} label={`Map of ${cells.length} nodes after the change. Arrow keys select a node.`} />
      <p id="selected-node" aria-live="polite" class="muted">{shown && `${shown.node.name}: ${formatAmount(resource, shown.free)} ${resource} free, ${plural(shown.pods.length, "pod")}`}</p>
    </>}
  </section>;
}
