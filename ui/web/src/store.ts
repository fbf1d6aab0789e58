import { useEffect, useState } from "preact/hooks";
import { follow } from "./client";
import { APINode, APIPod, Node, Pod, toNode, toPod } from "./model";
import { whileVisible } from "./visible";

export interface Fleet { nodes: Map<string, Node>; pods: Map<string, Pod>; errors: string[]; loaded: boolean; version: number }

// redrawInterval is the minimum time between two updates of the view, in milliseconds.
const redrawInterval = 250;

export function podsPath(namespace: string): string {
  return "/ui/cluster/api/v1/" + (namespace ? "namespaces/" + encodeURIComponent(namespace) + "/" : "") + "pods";
}

// useFleet follows the nodes and pods that the user may read.
export function useFleet(namespace: string): Fleet {
  const [fleet, setFleet] = useState<Fleet>({ nodes: new Map(), pods: new Map(), errors: [], loaded: false, version: 0 });
  useEffect(() => {
    const nodes = new Map<string, Node>(), pods = new Map<string, Pod>();
    const errors: Record<string, string> = {};
    let timer = 0, version = 0;
    const show = () => {
      if (timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        setFleet({ nodes, pods, errors: Object.values(errors).filter(Boolean), loaded: Object.keys(errors).length === 2, version: ++version });
      }, redrawInterval);
    };
    const report = (kind: string) => (error: string) => { errors[kind] = error; show(); };
    const end = whileVisible((signal) => {
      void follow<APINode>({
        path: "/ui/cluster/api/v1/nodes", clear: () => nodes.clear(),
        put: (list) => { for (const n of list) nodes.set(n.metadata.name, toNode(n)); show(); },
        remove: (n) => { nodes.delete(n.metadata.name); show(); },
      }, report("nodes"), signal);
      void follow<APIPod>({
        path: podsPath(namespace), clear: () => pods.clear(),
        put: (list) => {
          for (const p of list) {
            const pod = toPod(p), key = p.metadata.namespace + "/" + p.metadata.name;
            if (pod) pods.set(key, pod); else pods.delete(key);
          }
          show();
        },
        remove: (p) => { pods.delete(p.metadata.namespace + "/" + p.metadata.name); show(); },
      }, report("pods"), signal);
    });
    return () => { end(); window.clearTimeout(timer); };
  }, [namespace]);
  return fleet;
}

// usePolled reads a value at once and every interval, in milliseconds.
export function usePolled<T>(read: (signal: AbortSignal) => Promise<T>, interval: number, dependencies: unknown[]) {
  const [state, setState] = useState<{ value?: T; error: string }>({ error: "" });
  useEffect(() => {
    let timer = 0;
    const next = async (signal: AbortSignal) => {
      try {
        const value = await read(signal);
        if (signal.aborted) return;
        setState({ value, error: "" });
      } catch (e) {
        if (signal.aborted) return;
        setState((s) => ({ ...s, error: e instanceof Error ? e.message : String(e) }));
      }
      if (interval) timer = window.setTimeout(next, interval, signal);
    };
    setState({ error: "" });
    return whileVisible((signal) => {
      signal.addEventListener("abort", () => window.clearTimeout(timer));
      void next(signal);
    });
  }, dependencies);
  return state;
}
