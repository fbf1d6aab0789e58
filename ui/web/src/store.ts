import { useEffect, useState } from "preact/hooks";
import { getJSON } from "./client";
import { followEvents, ServerEvent } from "./events";
import { applyChanges, Changes, Node, Pod } from "./model";
import { loadFleetAt } from "./history";
import { sincePanning } from "./panning";
import { whileVisible } from "./visible";

interface Update extends Changes { reset?: string[]; errors?: Record<string, string> }
export interface Fleet { nodes: Map<string, Node>; pods: Map<string, Pod>; errors: string[]; loaded: boolean; version: number }

// redrawInterval is the minimum time between two updates of the view, in milliseconds.
const redrawInterval = 250;

// While the user moves the map, updates wait for panningPause, for at most maxPause, in milliseconds.
const panningPause = 300, maxPause = 5000;

// useFleet follows the nodes and pods that the user may read.
// With a time, it reads them once from the recording.
export function useFleet(namespace: string, at = ""): Fleet {
  const [fleet, setFleet] = useState<Fleet>({ nodes: new Map(), pods: new Map(), errors: [], loaded: false, version: 0 });
  useEffect(() => {
    if (at) return loadFleetAt(namespace, at, setFleet);
    const nodes = new Map<string, Node>(), pods = new Map<string, Pod>();
    const errors: Record<string, string> = {};
    let shown = 0, timer = 0, version = 0, failed = "";
    const show = () => {
      if (timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        if (sincePanning() < panningPause && Date.now() - shown < maxPause) { show(); return; }
        shown = Date.now();
        setFleet({ nodes, pods, errors: [...Object.values(errors), failed].filter(Boolean), loaded: Object.keys(errors).length === 2, version: ++version });
      }, version ? Math.max(redrawInterval, Math.min(2000, pods.size / 50)) : 0);
    };
    const receive = (e: ServerEvent) => {
      const update: Update = JSON.parse(e.data);
      if (update.reset?.includes("nodes")) nodes.clear();
      if (update.reset?.includes("pods")) pods.clear();
      applyChanges(nodes, pods, update);
      Object.assign(errors, update.errors ?? {});
      failed = "";
      show();
    };
    const path = "/ui/api/fleet?namespace=" + encodeURIComponent(namespace);
    const end = whileVisible((signal) => void followEvents(path, receive, (f) => { failed = f.message; show(); }, signal));
    return () => { end(); window.clearTimeout(timer); };
  }, [namespace, at]);
  return fleet;
}

// useLive follows an answer of the server: it is sent again whenever it has changed. The server computes it every so many seconds.
// With every = 0, it is read once. A path of "" has no answer.
export function useLive<T>(path: string, query: Record<string, string>, every: number) {
  const [state, setState] = useState<{ value?: T; error: string }>({ error: "" });
  const parameters = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== ""));
  if (every) parameters.set("every", String(every));
  const url = path && path + (path.includes("?") ? "&" : "?") + parameters.toString();
  useEffect(() => {
    setState({ error: "" });
    if (!url) return;
    const fail = (message: string) => setState((s) => ({ ...s, error: message }));
    const receive = (e: ServerEvent) => {
      if (e.name === "answer") setState({ value: JSON.parse(e.data), error: "" });
      else if (e.name === "failure") fail(JSON.parse(e.data).message);
    };
    return whileVisible((signal) => {
      if (every) void followEvents(url, receive, (f) => fail(f.message), signal);
      else getJSON<T>(url, {}, signal).then((value) => { if (!signal.aborted) setState({ value, error: "" }); }, (e) => { if (!signal.aborted) fail(e instanceof Error ? e.message : String(e)); });
    });
  }, [url, every]);
  return state;
}

// byNode returns the pods of each node.
export function byNode(pods: Map<string, Pod>): Map<string, Pod[]> {
  const out = new Map<string, Pod[]>();
  for (const p of pods.values()) {
    if (!p.node) continue;
    const list = out.get(p.node);
    if (list) list.push(p); else out.set(p.node, [p]);
  }
  return out;
}
