import { useState } from "preact/hooks";
import { Command, Table } from "./parts";
import { formatAmount } from "./quantity";
import { useLive } from "./store";
import { squarify } from "./treemap";

// The output of `berth explain node NAME --disk -o json`.
interface FileSystem { names: string[]; dir: string; capacity: number; used: number; available: number; other: number }
interface Consumer { kind: string; fileSystem: string; pod?: string; name: string; bytes: number }
interface Report { fileSystems: FileSystem[]; consumers: Consumer[]; unknown?: string[] }

const interval = 30; // in seconds
const maxTiles = 120, maxRows = 50;
const width = 900, height = 320;
const colors: Record<string, string> = { image: "#0072b2", container: "#e69f00", "terminated container": "#8c6bb1", log: "#009e73", volume: "#cc79a7", orphan: "#d55e00", other: "#8a8f98" };

// NodeDisk shows what uses the disks, of nodes whose agent reports it.
export function NodeDisk({ name }: { name: string }) {
  const { value: x, error } = useLive<Report>("/ui/api/node/disk", { name }, interval);
  return <section><h2>What uses the disk?</h2>
    {error && <p class="muted">No figures: {error}</p>}
    {x && x.fileSystems.map((f) => <Treemap key={f.names.join()} f={f} consumers={x.consumers.filter((c) => f.names.includes(c.fileSystem))} />)}
    {x && <Command words={["berth", "explain", "node"]} operands={[name]} options={["--disk"]} />}
    {(x?.unknown ?? []).map((u) => <p key={u} class="muted">Not measured: {u}</p>)}
  </section>;
}

function Treemap({ f, consumers }: { f: FileSystem; consumers: Consumer[] }) {
  const [focus, setFocus] = useState("");
  const sorted = [...consumers].sort((a, b) => b.bytes - a.bytes);
  const shown: Consumer[] = [...sorted.slice(0, maxTiles), { kind: "other", fileSystem: "", name: "everything else", bytes: f.other + sorted.slice(maxTiles).reduce((n, c) => n + c.bytes, 0) }];
  const text = (c: Consumer) => `${c.kind} ${c.pod ? c.pod + " " : ""}${c.name}: ${formatAmount("memory", c.bytes)}`;
  const kinds = [...new Set(shown.filter((c) => c.bytes > 0).map((c) => c.kind))];
  return <>
    <p><strong>{f.names.join(", ")}</strong>: {formatAmount("memory", f.used)} of {formatAmount("memory", f.capacity)} used, {formatAmount("memory", f.available)} available.</p>
    <ul class="legend" aria-label="Colors">{kinds.map((k) => <li key={k}><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={colors[k]} /></svg>{k}</li>)}</ul>
    <svg class="treemap" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Usage of ${f.names.join(", ")}; largest: ${sorted[0] ? text(sorted[0]) : "none"}. The table below has the figures.`}>
      {squarify(shown, (c) => c.bytes, width, height).map(({ item: c, x, y, width: w, height: h }, i) => <g key={i} onMouseEnter={() => setFocus(text(c))}>
        <rect x={x + 1} y={y + 1} width={Math.max(0, w - 2)} height={Math.max(0, h - 2)} fill={colors[c.kind] ?? colors.other} />
        {w > 70 && h > 18 && <text x={x + 6} y={y + 15}>{clip(c.name, w)}</text>}
      </g>)}
    </svg>
    <p class="muted" aria-hidden="true">{focus || "Point at a tile to see its name and size."}</p>
    <details><summary>The largest as a table</summary><Table label={"Consumers of " + f.names.join(", ")} head={["Size", "Kind", "Pod", "Name"]}>
      {sorted.slice(0, maxRows).map((c, i) => <tr key={i}><td class="number">{formatAmount("memory", c.bytes)}</td><td>{c.kind}</td><td>{c.pod}</td><td>{c.name}</td></tr>)}</Table></details>
  </>;
}

function clip(text: string, width: number): string {
  const n = Math.floor((width - 10) / 7.5);
  return text.length <= n ? text : text.slice(0, Math.max(0, n - 1)) + "…";
}
