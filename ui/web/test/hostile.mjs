// Objects of a cluster whose texts are markup, in fields that the API server does not restrict to names.

// markup returns the text of field n.
export const markup = (n) => `<img src=x onerror=window.pwned=${n}>`;

// hostileObjects returns the objects to apply, the statuses to patch, and the number of fields with markup.
export function hostileObjects() {
  let n = 0;
  const text = () => markup(++n);
  const annotations = () => ({ "berth.dev/note": text(), "kubernetes.io/description": text() });
  const container = () => ({ name: "c", image: text(), command: [text()], args: [text()], workingDir: "/" + text(), terminationMessagePath: "/" + text(), env: [{ name: "A", value: text() }],
    readinessProbe: { httpGet: { path: "/" + text(), port: 80, httpHeaders: [{ name: "X-A", value: text() }] }, periodSeconds: 600 } });
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "lost1", annotations: annotations(), labels: { "topology.kubernetes.io/zone": "d" } } };
  const bound = { apiVersion: "v1", kind: "Pod", metadata: { name: "hostile", namespace: "shop", annotations: annotations() }, spec: { nodeName: "lost1", containers: [container()] } };
  const pending = { apiVersion: "v1", kind: "Pod", metadata: { name: "hostile-pending", namespace: "shop", annotations: annotations() },
    spec: { schedulerName: text(), nodeSelector: { "berth.dev/missing": "yes" }, containers: [container()] } };
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "hostile", namespace: "shop", annotations: annotations() },
    spec: { maxUnavailable: 0, selector: { matchLabels: { none: "none" } } } };
  const priority = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "hostile", annotations: annotations() }, value: 5, description: text() };
  const event = (name, reason) => ({ apiVersion: "v1", kind: "Event", metadata: { name, namespace: "shop" }, type: "Warning", reason, message: text(), count: 1,
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "gone", uid: "gone-" + name, fieldPath: text() }, source: { component: text(), host: text() },
    firstTimestamp: "2026-01-01T00:00:00Z", lastTimestamp: "2026-01-01T00:00:00Z" });
  const objects = [node, bound, pending, budget, priority, event("hostile-preempted", "Preempted"), event("hostile-evicted", "Evicted"), event("hostile-other", text())];
  const now = new Date().toISOString().replace(/\.\d+/, "");
  const condition = (type, status) => ({ type, status, reason: text(), message: text(), lastTransitionTime: now, lastHeartbeatTime: now });
  const patches = [
    ["node", "lost1", "", { conditions: [condition("Ready", "False"), condition("MemoryPressure", "True"), condition(text(), "True")],
      nodeInfo: { machineID: text(), systemUUID: text(), bootID: text(), kernelVersion: text(), osImage: text(), containerRuntimeVersion: text(), kubeletVersion: text(), kubeProxyVersion: "", operatingSystem: text(), architecture: text() },
      images: [{ names: [text()], sizeBytes: 1 }] }],
    ["pod", "hostile", "shop", { phase: "Running", message: text(), reason: text(), nominatedNodeName: "",
      conditions: [{ type: "Ready", status: "False", reason: "A", message: text() }, { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: text() }],
      containerStatuses: [{ name: "c", image: text(), imageID: text(), ready: false, restartCount: 1, state: { waiting: { reason: text(), message: text() } }, lastState: { terminated: { exitCode: 1, reason: text(), message: text(), containerID: text() } } }] }],
  ];
  return { objects, patches, fields: n };
}
