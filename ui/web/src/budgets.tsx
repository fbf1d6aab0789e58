import { useEffect, useState } from "preact/hooks";
import { follow, getJSON } from "./client";
import { timeOf } from "./history";
import type { ViewProps } from "./page";
import { Command, Errors, Link } from "./parts";
import { formatAge, plural } from "./quantity";
import { viewURL } from "./route";

interface Budget {
  metadata: { name: string; namespace: string; uid: string; resourceVersion?: string };
  spec: { minAvailable?: number | string; maxUnavailable?: number | string; unhealthyPodEvictionPolicy?: string };
  status?: { disruptionsAllowed: number; currentHealthy: number; desiredHealthy: number; expectedPods: number; disruptedPods?: Record<string, string>; conditions?: { type: string; status: string; reason?: string; message?: string }[] };
}

export function BudgetsView({ namespace, route }: ViewProps) {
  const at = timeOf(route);
  const [state, setState] = useState<{ list: Budget[]; error: string; loaded: boolean }>({ list: [], error: "", loaded: false });
  useEffect(() => {
    const stop = new AbortController(), budgets = new Map<string, Budget>();
    const key = (b: Budget) => b.metadata.namespace + "/" + b.metadata.name;
    const show = (error?: string) => setState((s) => ({ list: [...budgets.values()], error: error ?? s.error, loaded: s.loaded || error !== undefined }));
    if (at) {
      getJSON<{ items: Budget[] }>("/ui/api/history/budgets", { namespace, at }, stop.signal).then((list) => setState({ list: list.items, error: "", loaded: true }),
        (e) => { if (!stop.signal.aborted) setState({ list: [], error: e instanceof Error ? e.message : String(e), loaded: true }); });
    } else void follow<Budget>({
      path: "/ui/cluster/apis/policy/v1/" + (namespace ? "namespaces/" + encodeURIComponent(namespace) + "/" : "") + "poddisruptionbudgets", clear: () => budgets.clear(),
      put: (list) => { for (const b of list) budgets.set(key(b), b); show(); }, remove: (b) => { budgets.delete(key(b)); show(); },
    }, show, stop.signal);
    return () => stop.abort();
  }, [namespace, at]);
  const list = [...state.list].sort((a, b) => allowed(a) - allowed(b) || a.metadata.namespace.localeCompare(b.metadata.namespace) || a.metadata.name.localeCompare(b.metadata.name));
  const closed = list.filter((b) => allowed(b) === 0).length;
  return <>
    <h1>{at ? "What could be evicted?" : "What may be evicted now?"}</h1>
    <Errors list={[state.error]} />
    {!state.loaded && <p role="status">Loading…</p>}
    {state.loaded && !state.error && <p class="answer">{list.length === 0 ? <strong>No disruption budgets: none limits evictions.</strong> : <><strong>{closed ? plural(closed, "budget allows", "budgets allow") + " no eviction" : "Each budget allows an eviction"}</strong>, of {plural(list.length, "budget")}. Those with the least room come first.</>}</p>}
    {list.length > 0 && <ul class="cards" aria-label="Disruption budgets">{list.map((b) => <li key={b.metadata.uid}>
      <div class="row"><strong>{b.metadata.namespace}/{b.metadata.name}</strong> <span class={"badge" + (allowed(b) === 0 ? " none" : "")}>{plural(allowed(b), "eviction")} allowed{at ? "" : " now"}</span> <span class="muted">{b.status?.currentHealthy ?? 0} of {b.status?.expectedPods ?? 0} healthy · {rule(b)}</span></div>
      <div>{why(b)}</div>
      <div>Debits: {debits(b)}</div>
    </li>)}</ul>}
    <Command words={["berth", "kubectl", "get", "pdb"]} options={namespace ? ["-n", namespace] : ["-A"]} />
  </>;
}

function allowed(b: Budget): number { return b.status?.disruptionsAllowed ?? 0; }

function rule(b: Budget): string {
  return b.spec.maxUnavailable !== undefined ? "at most " + b.spec.maxUnavailable + " unavailable" : "at least " + (b.spec.minAvailable ?? 1) + " available";
}

function why(b: Budget): string {
  const s = b.status, condition = s?.conditions?.find((c) => c.type === "DisruptionAllowed");
  if (!s || !condition) return "The status is not computed yet.";
  if (condition.reason === "SyncFailed") return "The status cannot be computed: " + (condition.message ?? "");
  if (s.disruptionsAllowed > 0) return `${s.currentHealthy} are healthy, ${s.desiredHealthy} must be.`;
  if (s.expectedPods === 0) return "It selects no pods.";
  if (s.currentHealthy < s.desiredHealthy) return `Only ${s.currentHealthy} are healthy, ${s.desiredHealthy} must be.`;
  if (s.desiredHealthy >= s.expectedPods) return `All ${s.expectedPods} must be healthy: the budget can never allow an eviction.`;
  return `${s.currentHealthy} are healthy, ${s.desiredHealthy} must be; debits use the rest.`;
}

function debits(b: Budget) {
  const pods = Object.entries(b.status?.disruptedPods ?? {}).sort();
  if (pods.length === 0) return "none";
  return <ul class="plain">{pods.map(([name, time]) => <li key={name}><Link to={viewURL("pod", b.metadata.namespace, name)}>{name}</Link> {formatAge(time)} ago</li>)}</ul>;
}
