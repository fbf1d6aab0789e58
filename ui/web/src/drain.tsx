import { useEffect, useMemo, useState } from "preact/hooks";
import { drainColoring, Preview, podsAfter, PreviewPod, stays, whyNotMoved } from "./drain-rounds";
import { FleetCanvas } from "./fleet-canvas";
import { groupCells } from "./fleet-layout";
import { historyPath, timeOf } from "./history";
import type { ViewProps } from "./page";
import { Check, Command, Errors, Field, Legend, Link, Select, Table } from "./parts";
import { plural } from "./quantity";
import { setOption, viewURL } from "./route";
import { useFleet, useLive } from "./store";

const maxRows = 300;
const interval = 30; // in seconds
const roundDuration = 1200; // of the animation, in milliseconds
const flags = ["surge", "force", "delete-emptydir-data"];

export function DrainView({ route }: ViewProps) {
  const at = timeOf(route), fleet = useFleet("", at);
  const text = route.options.get("nodes") ?? "", resource = route.options.get("resource") ?? "cpu", focused = route.options.get("node") ?? "";
  const chosen = useMemo(() => [...new Set(text.split(",").map((s) => s.trim()).filter(Boolean))], [text]);
  const set = flags.filter((f) => route.options.get(f) === "true");
  const query = [...chosen.map((n) => ["node", n]), ...set.map((f) => [f, "true"])].map((e) => e.map((s) => encodeURIComponent(s!)).join("=")).join("&");
  const { value, error } = useLive<Preview>(chosen.length ? historyPath("drain", at) + "?" + query : "", { at }, at ? 0 : interval);
  const rounds = value?.rounds ?? 0;
  const round = Math.max(0, Math.min(rounds, Number(route.options.get("round") ?? rounds) || 0));
  const nodes = useMemo(() => [...fleet.nodes.values()].map((n) => chosen.includes(n.name) ? { ...n, cordoned: true } : n), [fleet, chosen]);
  const podsOf = useMemo(() => podsAfter(fleet.pods, value ?? null, round), [fleet, value, round]);
  const groups = useMemo(() => groupCells(nodes, podsOf, resource, "", true), [nodes, podsOf, resource]);
  const coloring = useMemo(() => drainColoring(fleet.pods, value ?? null, round), [fleet, value, round]);
  const toggle = (n: string) => setOption("nodes", (chosen.includes(n) ? chosen.filter((c) => c !== n) : [...chosen, n]).join(","));
  const names = useMemo(() => [...fleet.nodes.keys()].sort(), [fleet]);
  return <>
    <h1>{at ? "What would a drain of these nodes have done?" : "What happens if these nodes are drained?"}</h1>
    <form class="options" onSubmit={(e) => e.preventDefault()} aria-label="Options of the drain">
      <Field name="nodes" label="Nodes to drain" value={text} hint="n1, n2" list={names} />
      <Select name="resource" label="Resource" value={resource} none="cpu" values={[["cpu", "cpu"], ["memory", "memory"], ["pods", "pods"]]} />
      <Check name="surge" label="Surge: add a replica where a budget allows no disruption" value={set.includes("surge")} />
      <Check name="force" label="Also pods without a controller" value={set.includes("force")} />
      <Check name="delete-emptydir-data" label="Also pods with emptyDir data" value={set.includes("delete-emptydir-data")} />
    </form>
    <Errors list={[...fleet.errors, chosen.length ? error : ""]} />
    {chosen.length > 0 && error.includes(" --") && <p class="answer"><strong>The drain is refused</strong> unless an option above allows it.</p>}
    {chosen.length === 0 && <p class="answer">Choose nodes: click them below, press Enter on them, or enter their names. Nothing is evicted.</p>}
    {chosen.length > 0 && !value && !error && <p role="status">Simulating the drain…</p>}
    {value && <Summary x={value} />}
    {value && rounds > 0 && <Rounds x={value} round={round} />}
    {value && <Legend coloring={coloring} note="hatched: drained · crossed out: does not move" />}
    {nodes.length > 0 && <FleetCanvas groups={groups} resource={resource} coloring={coloring} selected={focused} select={(n) => setOption("node", n)} toggle={toggle} version={fleet.version + round / 1000}
      label={`Map of ${nodes.length} nodes. Arrow keys move, Enter chooses a node for the drain.`} />}
    <p id="selected-node" aria-live="polite" class="muted">{focused && `${focused} is ${chosen.includes(focused) ? "" : "not "}chosen.`}</p>
    {value && <Remaining x={value} />}
    {value && <Moves x={value} />}
    <Command words={["berth", "drain"]} operands={chosen.length ? chosen : ["NODE"]} options={["--what-if", ...set.map((f) => "--" + f)]} />
  </>;
}

function Summary({ x }: { x: Preview }) {
  const total = plural(x.pods.length, "pod"), rounds = plural(x.rounds, "round"), removed = x.pods.filter((p) => p.outcome === "removed").length;
  const rest = x.pods.filter(stays).length, moved = x.pods.length - rest - removed, never = x.pods.filter((p) => p.permanent || p.block?.permanent).length;
  if (x.pods.length === 0) return <p class="answer"><strong>No pod must move.</strong> {x.skipped?.length ? `${plural(x.skipped.length, "pod")} of DaemonSets or static pods stay.` : ""}</p>;
  return <p class="answer">
    <strong>{moved === x.pods.length ? `All ${total} move in ${rounds}.` : `${moved || "None"} of ${total} ${moved === 1 ? "moves" : "move"} in ${rounds}${rest > 0 ? `, ${rest} ${rest === 1 ? "does" : "do"} not` : ""}${removed > 0 ? `, ${removed} ${removed === 1 ? "ends" : "end"} without a replacement` : ""}.`}</strong>
    {never > 0 && <> <span class="none">{plural(never, "pod")} can never move unless an object changes.</span></>}
    {(x.preempted?.length ?? 0) > 0 && <> {plural(x.preempted!.length, "pod")} on other nodes {x.preempted!.length === 1 ? "is" : "are"} preempted.</>}
    {x.pods.some((p) => p.uncertain) && <> <span class="muted">Some results depend on timing.</span></>}
  </p>;
}

// Rounds is the control of the shown round. Play shows each round for a moment.
function Rounds({ x, round }: { x: Preview; round: number }) {
  const [playing, setPlaying] = useState(false);
  const show = (n: number) => setOption("round", String(n), String(x.rounds));
  useEffect(() => {
    if (!playing) return;
    if (round >= x.rounds) { setPlaying(false); return; }
    const timer = window.setTimeout(() => show(round + 1), roundDuration);
    return () => window.clearTimeout(timer);
  }, [playing, round, x.rounds]);
  const inRound = x.pods.filter((p) => p.round === round);
  return <div class="rounds">
    <button type="button" onClick={() => { if (playing) setPlaying(false); else { if (round >= x.rounds) show(0); setPlaying(true); } }}>{playing ? "Pause" : "Play"}</button>
    <label>Round <input type="range" name="round" min={0} max={x.rounds} value={round} onInput={(e) => { setPlaying(false); show(Number(e.currentTarget.value)); }}
      aria-valuetext={round === 0 ? "before the drain" : `after round ${round} of ${x.rounds}`} /></label>
    <span aria-live="polite">{round === 0 ? "Before the drain" : <>After round {round} of {x.rounds}{inRound.length > 0 && <span class="muted">: {inRound.slice(0, 4).map((p) => p.pod + (p.to ? " → " + p.to : "")).join(", ")}{inRound.length > 4 && ` and ${inRound.length - 4} more`}</span>}</>}</span>
  </div>;
}

// Remaining lists the pods that do not move, with reasons.
function Remaining({ x }: { x: Preview }) {
  const list = x.pods.filter(stays);
  if (list.length === 0) return null;
  return <section><h2>Which pods do not move, and why?</h2>
    <ul class="cards" aria-label="Pods that do not move">{list.slice(0, maxRows).map((p) => <li key={p.pod}>
      <div class="row"><PodLink name={p.pod} /> <span class={"badge" + (p.permanent || p.block?.permanent ? " none" : "")}>{p.outcome}</span> <span class="muted">on {p.from}{p.owner && ` · ${p.owner}`}</span></div>
      <div>{whyNotMoved(p)}</div>
      {(p.suggestions ?? []).map((s) => <div key={s} class="muted">Would help: {s}</div>)}
    </li>)}</ul></section>;
}

function Moves({ x }: { x: Preview }) {
  const list = x.pods.filter((p) => !stays(p));
  return <>
    {list.length > 0 && <section><h2>Moves</h2><Table label="Moves" head={["Round", "Pod", "From", "To", "Waited for"]}>
      {list.slice(0, maxRows).map((p) => <tr key={p.pod}><td class="number">{p.round ?? "–"}</td><td><PodLink name={p.pod} /></td><td>{p.from}</td><td>{p.to ?? (p.outcome === "removed" ? "not replaced" : "–")}{p.uncertain && " (depends on timing)"}</td><td>{waitedFor(p)}</td></tr>)}
    </Table>{list.length > maxRows && <p class="muted">The first {maxRows} of {list.length}.</p>}</section>}
    {(x.preempted?.length ?? 0) > 0 && <section><h2>Preempted on other nodes</h2><Table label="Preempted pods" head={["Pod", "Node", "For"]}>
      {x.preempted!.map((p) => <tr key={p.pod}><td><PodLink name={p.pod} /></td><td>{p.node}</td><td>the replacement of a drained pod of {p.preemptor.split("/")[0]}</td></tr>)}</Table></section>}
    {(x.skipped?.length ?? 0) > 0 && <details><summary>{plural(x.skipped!.length, "pod")} that the drain skips</summary><ul class="plain">{x.skipped!.map((s) => <li key={s.pod}>{s.pod} on {s.node}: {s.reason}</li>)}</ul></details>}
  </>;
}

function waitedFor(p: PreviewPod): string {
  const b = p.firstBlock;
  if (!b) return "";
  return (b.budget ? `budget ${b.budget}: ` : "") + (b.clearedBy || b.reason);
}

function PodLink({ name }: { name: string }) {
  const [namespace, pod] = name.split("/") as [string, string];
  return <Link to={viewURL("pod", namespace, pod)}>{name}</Link>;
}

