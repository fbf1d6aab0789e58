import { useMemo } from "preact/hooks";
import { Mark } from "./compare-decisions";
import { Command, Errors, Field, Table } from "./parts";
import { plural } from "./quantity";
import { navigate } from "./route";
import { commandOf, requestOf } from "./simulate-options";
import { formatSeconds, Line, Run, Summary, useSimulations } from "./simulation";

const maxLines = 200;

// figures are the fields of the summary that are compared; those of the second list are in seconds.
const figures: [keyof Summary, string][] = [["created", "pods created"], ["placed", "pods scheduled"], ["bound", "on nodes at the end"], ["pending", "pending at the end"], ["succeeded", "pods succeeded"], ["failed", "pods failed"], ["deleted", "pods deleted"],
  ["rejections", "attempts without a node"], ["preemptors", "preemptors"], ["victims", "victims"], ["cascades", "victims of replacements"], ["events", "events of the simulator"]];
const times: [keyof Summary, string][] = [["latencyP50", "creation to binding, p50"], ["latencyP99", "creation to binding, p99"], ["lastBound", "last binding at"], ["lastVictim", "last preemption at"]];

// CompareSimulations compares two seeds of a scenario, or two scenarios.
export function CompareSimulations({ options }: { options: URLSearchParams }) {
  const otherScenario = options.has("scenarioB") ? "scenarioB" : "scenario";
  const requests = useMemo(() => [requestOf(options), requestOf(options, otherScenario, "seedB")], [options.toString()]);
  const complete = requests.every(Boolean);
  const [a, b] = useSimulations(complete ? requests.map((r) => r!) : []);
  const change = (e: Event) => {
    e.preventDefault();
    const next = new URLSearchParams(options), text = ((e.currentTarget as HTMLFormElement).elements.namedItem("scenarioB") as HTMLTextAreaElement).value.replaceAll("\r\n", "\n");
    if (text === (options.get("scenario") ?? "")) next.delete("scenarioB"); else next.set("scenarioB", text);
    navigate("/ui/compare?" + next.toString());
  };
  return <>
    <form class="options" onSubmit={(e) => e.preventDefault()} aria-label="Seeds to compare">
      <Field name="seed" label="Seed of A" value={options.get("seed") ?? ""} hint="0" />
      <Field name="seedB" label="Seed of B" value={options.get("seedB") ?? ""} hint="0" />
    </form>
    {!complete && <Errors list={["Only the tab that opened the file of this link has it. Open the file in Simulate and compare there."]} />}
    <Errors list={[a?.failure ? "A: " + a.failure.message : "", b?.failure ? "B: " + b.failure.message : ""]} />
    {complete && !(a?.summary || a?.failure) && <p role="status">Simulating A…</p>}
    {(a?.summary || a?.failure) && !(b?.summary || b?.failure) && <p role="status">Simulating B…</p>}
    {a?.summary && b?.summary && <Results a={a} b={b} />}
    <details open={options.has("scenarioB")}><summary>Compare with another scenario</summary><form class="scenario" onSubmit={change}>
      <label>Scenario of B<textarea key={options.get(otherScenario) ?? ""} name="scenarioB" rows={10} spellcheck={false} maxLength={65536} defaultValue={options.get(otherScenario) ?? ""} /></label>
      <button type="submit">Run B</button></form></details>
    <Command {...commandOf(options, "seed", "a.txt")} />
    <Command {...commandOf(options, "seedB", options.has("scenarioB") ? "b.txt" : "a.txt")} />
  </>;
}

function Results({ a, b }: { a: Run; b: Run }) {
  const x = a.summary!, y = b.summary!;
  const rows = [...figures.map(([key, text]) => ({ text, a: x[key] as number, b: y[key] as number, show: (n: number) => n.toLocaleString("en") })), ...times.map(([key, text]) => ({ text, a: x[key] as number, b: y[key] as number, show: formatSeconds }))];
  const differ = rows.filter((r) => r.a !== r.b), lines = useMemo(() => pairLines(a.lines, b.lines), [a.lines, b.lines]);
  const first = lines.findIndex((l) => l.differs);
  const at = first < 0 ? 0 : Math.min(lines[first]!.a?.at ?? Infinity, lines[first]!.b?.at ?? Infinity) / 1e9;
  return <>
    <p class="answer"><strong>{first < 0 ? "Both runs are identical: " : ""}{outcome(x, y)}</strong>{first >= 0 && ` The runs differ from ${formatSeconds(at)} on.`} {differ.length ? `${plural(differ.length, "figure")} of ${rows.length} ${differ.length === 1 ? "differs" : "differ"}.` : "All figures are equal."}
</p>
    <Table label="Figures" head={["", "Figure", "A", "B", "B − A"]}>
      {rows.map((r) => <tr key={r.text}><td>{r.a !== r.b && <Mark />}</td><th scope="row">{r.text}</th><td class="number">{r.show(r.a)}</td><td class="number">{r.show(r.b)}</td><td class="number">{r.a === r.b ? "" : (r.b > r.a ? "+" : "−") + r.show(Math.abs(r.b - r.a))}</td></tr>)}
    </Table>
    {first >= 0 && <section><h2>Events from the first difference on</h2><Table label="Events compared" head={["", "A", "B"]}>
      {lines.slice(first, first + maxLines).map((l, i) => <tr key={i}><td>{l.differs && <Mark />}</td><td>{lineText(l.a)}</td><td>{lineText(l.b)}</td></tr>)}</Table>
      {lines.length - first > maxLines && <p class="muted">The first {maxLines} of {lines.length - first} lines.</p>}</section>}
  </>;
}

// outcome compares what matters most and differs: violations, failed expectations, pending pods, then victims.
function outcome(a: Summary, b: Summary): string {
  if (Boolean(a.violation) !== Boolean(b.violation)) return `An invariant is violated in ${a.violation ? "A" : "B"}, none in ${a.violation ? "B" : "A"}.`;
  const failed = [a, b].map((s) => s.failedExpectations?.length ?? 0) as [number, number];
  if (failed[0] !== failed[1]) return `In A ${amount(failed[0], "expectation fails", "expectations fail")}, in B ${failed[1] || "none"}.`;
  if (a.pending !== b.pending) return `A leaves ${amount(a.pending, "pod")} pending, B ${b.pending || "none"}.`;
  const pending = a.pending ? `both leave ${plural(a.pending, "pod")} pending` : "neither leaves a pod pending";
  if (a.victims !== b.victims) return `A preempts ${amount(a.victims, "pod")}, B ${b.victims || "none"}; ${pending}.`;
  return pending[0]!.toUpperCase() + pending.slice(1) + ".";
}

function amount(n: number, one: string, many?: string): string { return n ? plural(n, one, many) : "no " + one; }

function lineText(l: Line | undefined): string { return l ? `${formatSeconds(l.at / 1e9)} ${l.actor}: ${l.text}` : ""; }

interface Pair { a?: Line; b?: Line; differs: boolean }

// pairLines pairs equal lines of two timelines; the others follow in the order of their times.
function pairLines(a: Line[], b: Line[]): Pair[] {
  const key = (l: Line) => l.at + " " + l.actor + " " + l.text, out: Pair[] = [];
  const inA = new Set(a.map(key)), inB = new Set(b.map(key));
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    const x = a[i], y = b[j];
    if (x && y && key(x) === key(y)) { out.push({ a: x, b: y, differs: false }); i++; j++; continue; }
    const onlyInB = y && x && x.at === y.at && inB.has(key(x)) && !inA.has(key(y));
    if (x && (!y || x.at <= y.at) && !onlyInB) { out.push({ a: x, differs: true }); i++; } else { out.push({ b: y!, differs: true }); j++; }
  }
  return out;
}
