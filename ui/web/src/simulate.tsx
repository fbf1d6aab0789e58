import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { newColoring } from "./colors";
import { FleetCanvas } from "./fleet-canvas";
import { groupCells } from "./fleet-layout";
import { useKeyedState } from "./keyed-state";
import type { Pod } from "./model";
import type { ViewProps } from "./page";
import { Command, Errors, Legend, Link, Select, Table } from "./parts";
import { plural } from "./quantity";
import { navigate, setOption } from "./route";
import { commandOf, example, requestOf } from "./simulate-options";
import { formatSeconds, frameAt, keepDump, keptDump, Playback, Run, useSimulations } from "./simulation";
import { byNode } from "./store";

const maxLines = 100; // of the log that are shown
const tick = 100; // between two updates while playing, in milliseconds
const speeds = [1, 10, 60, 600, 3600];

export function SimulateView({ route }: ViewProps) {
  const request = useMemo(() => requestOf(route.options), [route.options.toString()]);
  const [run] = useSimulations(request ? [request] : []);
  const missing = route.options.get("dump") && !request;
  return <>
    <h1>What happens in this scenario?</h1>
    {run?.summary && <Outcome run={run} />}
    {run?.running && <p role="status">Simulating: {formatSeconds(run.seconds)} of virtual time…</p>}
    {run?.failure && <Problem run={run} scenario={request!.scenario} />}
    {missing && <Errors list={["Only the tab that opened the file of this link has it. Choose the file again."]} />}
    {!request && !missing && <p class="answer">Enter a scenario and run it. Nothing in the cluster changes.</p>}
    {run && run.frames.length > 0 && <Player key={JSON.stringify(request)} run={run} t={route.options.get("t") ?? ""} resource={route.options.get("resource") ?? "cpu"} selected={route.options.get("node") ?? ""} />}
    <Editor options={route.options} line={run?.failure?.line ?? 0} busy={run?.running ?? false} />
    {request && <p><Link to={compareURL(route.options)}>Compare with another seed</Link></p>}
    <Command {...commandOf(route.options)} />
  </>;
}

function compareURL(options: URLSearchParams): string {
  const other = new URLSearchParams(options);
  for (const name of ["t", "node", "resource"]) other.delete(name);
  other.set("seedB", "1");
  return "/ui/compare?" + other.toString();
}

// Outcome is the result in one sentence.
function Outcome({ run }: { run: Run }) {
  const s = run.summary!, failed = s.failedExpectations ?? [];
  return <div class="answer"><p><strong>{s.violation ? "An invariant is violated." : failed.length ? `${plural(failed.length, "expectation")} failed.` : s.pending ? `At the end, ${plural(s.pending, "pod waits", "pods wait")} for a node.` : "At the end, every pod has a node."}</strong>
    {" "}{s.placed} of {plural(s.created, "pod")} scheduled, {s.victims} preempted, {s.deleted} deleted in {formatSeconds(s.seconds)}; at the end {s.bound} on nodes, {s.pending} pending.</p>
    <Errors list={[...(s.violation ? [s.violation] : []), ...failed]} />
    {(s.reasons ?? []).slice(0, 5).map((r) => <p key={r.message} class="muted">{plural(r.pods, "pod")}: {r.message}</p>)}
  </div>;
}

// Problem shows why a simulation did not run to its end, with the line of the scenario.
function Problem({ run, scenario }: { run: Run; scenario: string }) {
  const f = run.failure!;
  return <>
    <p class="answer"><strong>{f.line ? `Line ${f.line} of the scenario is not valid.` : "The simulation did not finish."}</strong></p>
    <Errors list={[f.message]} />
    {f.line > 0 && <p><code>{f.line}: {scenario.split("\n")[f.line - 1]}</code></p>}
  </>;
}

// Editor edits the scenario. Running it puts it into the URL.
function Editor({ options, line, busy }: { options: URLSearchParams; line: number; busy: boolean }) {
  const [file, setFile] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const text = options.get("scenario") ?? example, from = options.get("from") ?? (options.get("dump") ? "file" : "");
  const [start, setStart] = useKeyedState(from, from);
  useEffect(() => {
    if (!line || !area.current) return;
    const lines = text.split("\n"), first = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.current.setSelectionRange(first, first + (lines[line - 1]?.length ?? 0));
  }, [line, text]);
  const submit = async (e: Event) => {
    e.preventDefault();
    const form = (e.currentTarget as HTMLFormElement).elements;
    const field = (name: string) => (form.namedItem(name) as HTMLInputElement | null)?.value.trim() ?? "";
    const chosen = (form.namedItem("file") as HTMLInputElement | null)?.files?.[0];
    const next = new URLSearchParams({ scenario: (form.namedItem("scenario") as HTMLTextAreaElement).value.replaceAll("\r\n", "\n") });
    if (field("seed")) next.set("seed", field("seed"));
    if (start === "cluster") next.set("from", "cluster");
    if (start === "file") {
      const digest = chosen ? await keepDump(chosen) : options.get("dump");
      if (!digest) { setFile("Choose a file: the output of kubectl get -o yaml."); return; }
      next.set("dump", digest);
    }
    setFile("");
    navigate("/ui/simulate?" + next.toString());
  };
  return <form class="scenario" onSubmit={submit} aria-label="Scenario">
    <h2>Scenario</h2>
    <label>One action per line
      <textarea ref={area} key={text} name="scenario" rows={Math.min(16, Math.max(8, text.split("\n").length + 1))} spellcheck={false} aria-invalid={line ? true : undefined} defaultValue={text} maxLength={65536} /></label>
    <div class="options">
      <label>Start with<select name="start" value={start} onChange={(e) => setStart(e.currentTarget.value)}>
        {[["", "an empty cluster"], ["cluster", "this cluster"], ["file", "a dump file"]].map(([v, t]) => <option key={v} value={v} selected={v === start}>{t}</option>)}</select></label>
      {start === "file" && <label>Dump<input name="file" type="file" accept=".yaml,.yml,.json" /></label>}
      <label>Seed<input key={options.get("seed") ?? ""} name="seed" defaultValue={options.get("seed") ?? ""} placeholder="0" inputMode="numeric" pattern="[0-9]{0,15}" size={8} autocomplete="off" /></label>
      <button type="submit" disabled={busy}>Run</button>
    </div>
    <Errors list={[file]} />
    {start === "file" && options.get("dump") && keptDump(options.get("dump")!) && <p class="muted">File: {keptDump(options.get("dump")!)!.name}</p>}
    {start === "cluster" && <p class="muted">In a terminal: berth kubectl get nodes,pods,pdb,pc,pv,pvc,sc,svc,rs,sts,ns -A -o yaml &gt; dump.yaml</p>}
  </form>;
}

// Player shows the states of a simulation with a time control.
function Player({ run, t, resource, selected }: { run: Run; t: string; resource: string; selected: string }) {
  const { frames } = run, last = frames.length - 1;
  const [at, setAt] = useState(() => t === "" ? -1 : Number(t) || 0); // in seconds; -1: the end
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(0); // 0: the whole run in 20 s
  const frame = at < 0 ? last : frameAt(frames, at);
  const playback = useMemo(() => new Playback(frames), [frames]);
  const seconds = at < 0 ? run.seconds : at;
  const show = (n: number) => {
    const value = n >= run.seconds && !run.running ? -1 : Math.max(0, n);
    setAt(value);
    return value;
  };
  const pause = (n: number) => { setPlaying(false); setOption("t", show(n) < 0 ? "" : String(Math.round(Math.max(0, n) * 1000) / 1000)); };
  useEffect(() => {
    if (!playing) return;
    const factor = speed || Math.max(run.seconds / 20, 0.1);
    const timer = window.setTimeout(() => {
      const next = seconds + factor * tick / 1000;
      if (next >= run.seconds) pause(run.seconds); else show(next);
    }, tick);
    return () => window.clearTimeout(timer);
  }, [playing, seconds, speed, run.seconds]);
  const play = () => { if (playing) { pause(seconds); return; } if (at < 0) show(0); setPlaying(true); };
  const text = formatSeconds(seconds);
  return <section aria-label="Simulation">
    <div class="rounds">
      <button type="button" onClick={play}>{playing ? "Pause" : "Play"}</button>
      <button type="button" disabled={frame <= 0} onClick={() => pause(frames[frame - 1]?.at ?? 0)}>Back</button>
      <button type="button" disabled={frame >= last} onClick={() => pause(frames[frame + 1]?.at ?? run.seconds)}>Step</button>
      <label>Virtual time <input type="range" name="t" min={0} max={Math.ceil(run.seconds * 1000)} step={1} value={Math.round(seconds * 1000)} aria-valuetext={text}
        onInput={(e) => pause(Number(e.currentTarget.value) / 1000)} /></label>
      <label>Speed <select name="speed" value={String(speed)} onChange={(e) => setSpeed(Number(e.currentTarget.value))}>
        <option value="0">whole run in 20 s</option>{speeds.map((s) => <option key={s} value={s}>{s} ×</option>)}</select></label>
      <output>{text} of {formatSeconds(run.seconds)}</output>
    </div>
    <State playback={playback} frame={frame} resource={resource} selected={selected} />
    <Log run={run} seconds={frames[frame]?.at ?? seconds} />
  </section>;
}

function State({ playback, frame, resource, selected }: { playback: Playback; frame: number; resource: string; selected: string }) {
  const { groups, coloring, pods, pending } = useMemo(() => {
    playback.seek(frame);
    const pods = [...playback.pods.values()], bound = pods.filter((p) => p.node);
    return { groups: groupCells([...playback.nodes.values()], byNode(playback.pods), resource, "", true), coloring: newColoring("priority", bound, playback.nodes), pods: bound, pending: pods.filter((p) => !p.node) };
  }, [playback, frame, resource]);
  const count = playback.nodes.size;
  return <>
    <p id="simulated-state"><strong>{plural(pods.length, "pod")} on {plural(count, "node")}, {pending.length} pending</strong>{pending.length > 0 && <span class="muted">: {names(pending)}</span>}</p>
    <form class="options" onSubmit={(e) => e.preventDefault()}><Select name="resource" label="Resource" value={resource} none="cpu" values={[["cpu", "cpu"], ["memory", "memory"], ["pods", "pods"]]} /></form>
    <Legend coloring={coloring} note="empty: free · hatched: cordoned or not ready · !: pressure" />
    {count > 0 && <FleetCanvas groups={groups} resource={resource} coloring={coloring} selected={selected} select={(n) => setOption("node", n)} version={frame} label={`Map of ${count} simulated nodes. Arrow keys select a node.`} />}
    <p id="selected-node" class="muted">{selected && playback.nodes.has(selected) && `${selected}: ${names(pods.filter((p) => p.node === selected)) || "no pods"}`}</p>
  </>;
}

function names(pods: Pod[]): string { return pods.slice(0, 8).map((p) => p.key).join(", ") + (pods.length > 8 ? ` and ${pods.length - 8} more` : ""); }

// Log shows the last lines of the timeline up to a time, the newest first.
function Log({ run, seconds }: { run: Run; seconds: number }) {
  const limit = Math.round(seconds * 1e9);
  let low = 0, high = run.lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.lines[middle]!.at <= limit) low = middle + 1; else high = middle;
  }
  const shown = run.lines.slice(Math.max(0, low - maxLines), low).reverse();
  return <section><h2>Events</h2>
    {shown.length === 0 ? <p class="muted">None yet.</p> : <Table label="Events" head={["Time", "Actor", "Event"]}>
      {shown.map((l, i) => <tr key={low - i}><td class="number">{formatSeconds(l.at / 1e9)}</td><td>{l.actor}</td><td>{l.text}</td></tr>)}</Table>}
    {low > maxLines && <p class="muted">The last {maxLines} of {low} events up to here.</p>}
  </section>;
}
