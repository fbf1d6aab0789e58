import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Coloring } from "./colors";
import { plural } from "./quantity";
import { followLink, setOption } from "./route";
import { CommandLine, shellCommand } from "./shell";

// Command shows the equivalent command with a button that copies it.
export function Command(line: CommandLine) {
  const text = shellCommand(line);
  const [copied, setCopied] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied("Copied");
    } catch {
      setCopied("Select the text to copy it");
    }
    window.setTimeout(() => setCopied(""), 3000);
  };
  return <p class="command">
    <span class="muted">In a terminal:</span> <code tabIndex={0}>{text}</code> <button type="button" onClick={copy} aria-label={"Copy command " + text}>Copy</button>
    <span role="status" class="muted">{copied}</span>
  </p>;
}

export function Link({ to, children, label, current }: { to: string; children: ComponentChildren; label?: string; current?: boolean }) {
  return <a href={to} onClick={followLink} aria-label={label} aria-current={current ? "page" : undefined}>{children}</a>;
}

export function Errors({ list }: { list: string[] }) {
  return <>{list.filter(Boolean).map((e) => <p key={e} role="alert" class="error">{e}</p>)}</>;
}

// Field edits a text option of the URL. A change applies when the input loses focus or the user presses Enter.
export function Field({ name, label, value, hint, list, error }: { name: string; label: string; value: string; hint: string; list?: string[]; error?: string }) {
  return <label>{label}
    <input key={value} name={name} defaultValue={value} placeholder={hint} list={list ? name + "-list" : undefined} spellcheck={false} autocomplete="off"
      aria-invalid={error ? true : undefined} onChange={(e) => setOption(name, e.currentTarget.value.trim())} />
    {list && <datalist id={name + "-list"}>{list.map((v) => <option key={v} value={v} />)}</datalist>}
  </label>;
}

export function Select({ name, label, value, none, values }: { name: string; label: string; value: string; none: string; values: [string, string][] }) {
  return <label>{label}
    <select value={value} onChange={(e) => setOption(name, e.currentTarget.value, none)}>
      {values.map(([v, text]) => <option key={v} value={v} selected={v === value}>{text}</option>)}
    </select>
  </label>;
}

// Check is an option of the URL that is true or absent.
export function Check({ name, label, value }: { name: string; label: string; value: boolean }) {
  return <label class="check"><input type="checkbox" name={name} checked={value} onChange={(e) => setOption(name, e.currentTarget.checked ? "true" : "")} /> {label}</label>;
}

export function Legend({ coloring, note }: { coloring: Coloring; note: string }) {
  return <ul class="legend" aria-label="Colors">{coloring.legend.map((l) => <li key={l.text}><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={l.color} />{l.marked && <path class="cross" d="M1 1L11 11M1 11L11 1" />}</svg>{l.text} <span class="muted">{plural(l.count, "pod")}</span></li>)}
    <li class="muted">{note}</li></ul>;
}

// Bar shows the used part of a capacity, with a mark where a threshold begins.
export function Bar({ label, used, capacity, mark }: { label: string; used: number; capacity: number; mark?: number }) {
  const x = (n: number) => capacity > 0 ? Math.max(0, Math.min(1000, n / capacity * 1000)) : 0;
  return <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label={label}>
    <rect class="back" width="1000" height="10" /><rect class={mark !== undefined && used > mark ? "over" : "used"} width={x(used)} height="10" />
    {mark !== undefined && <rect class="mark" x={Math.min(997, x(mark))} width="3" height="10" />}
  </svg>;
}

// Table is a table that scrolls within the page. Its container can have the keyboard focus.
export function Table({ label, head, children }: { label: string; head: string[]; children: ComponentChildren }) {
  return <div class="scroll" tabIndex={0} role="region" aria-label={label}>
    <table><thead><tr>{head.map((h) => <th key={h} scope="col">{h}</th>)}</tr></thead><tbody>{children}</tbody></table>
  </div>;
}
