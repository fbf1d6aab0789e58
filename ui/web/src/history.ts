import { getJSON } from "./client";
import { applyChanges, Changes, Node, Pod } from "./model";
import type { Route } from "./route";
import type { Fleet } from "./store";
import { whileVisible } from "./visible";

// timeOf returns the time that the view shows, or "" for the present.
export function timeOf(route: Route): string {
  const at = route.options.get("at") ?? "";
  return Date.parse(at) ? at : "";
}

// historyPath returns the path of an answer at a time, or at the present if it is empty.
export function historyPath(answer: string, at: string): string { return at ? "/ui/api/history/" + answer : "/ui/api/" + answer; }

// loadFleetAt reads the nodes and pods at a time.
export function loadFleetAt(namespace: string, at: string, show: (change: (previous: Fleet) => Fleet) => void): () => void {
  return whileVisible(async (signal) => {
    try {
      const changes = await getJSON<Changes & { errors: string[] }>("/ui/api/history/fleet", { namespace, at }, signal);
      const nodes = new Map<string, Node>(), pods = new Map<string, Pod>();
      applyChanges(nodes, pods, changes);
      show((previous) => ({ nodes, pods, errors: changes.errors, loaded: true, version: previous.version + 1 }));
    } catch (e) {
      if (!signal.aborted) show((previous) => ({ ...previous, nodes: new Map(), pods: new Map(), errors: [e instanceof Error ? e.message : String(e)], loaded: true, version: previous.version + 1 }));
    }
  });
}
