import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { followLink, setOption } from "./route";

// Command shows the equivalent command with a button that copies it.
export function Command({ text }: { text: string }) {
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
    <span class="muted">Same in a terminal:</span> <code tabIndex={0}>{text}</code> <button type="button" onClick={copy} aria-label={"Copy command " + text}>Copy</button>
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

// Table is a table that scrolls within the page. Its container can have the keyboard focus.
export function Table({ label, head, children }: { label: string; head: string[]; children: ComponentChildren }) {
  return <div class="scroll" tabIndex={0} role="region" aria-label={label}>
    <table><thead><tr>{head.map((h) => <th key={h} scope="col">{h}</th>)}</tr></thead><tbody>{children}</tbody></table>
  </div>;
}
