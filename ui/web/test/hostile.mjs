// Objects of a cluster whose texts are markup, in fields that the API server does not restrict to names.

// markup returns the text of field n.
export const markup = (n) => `<img src=x onerror=window.pwned=${n}>`;

const first = 100; // number of the first field; 1 is in the URLs and in cluster.yaml

// hostileObjects returns the objects to apply, the statuses to patch, and the names of the fields with markup by their numbers.
export function hostileObjects() {
  const fields = new Map();
  const text = (name) => { const n = first + fields.size; fields.set(n, name); return markup(n); };
  const annotations = (of) => ({ "berth.dev/note": text(of + " annotation note"), "kubernetes.io/description": text(of + " annotation description") });
  const container = (of) => ({ name: "c", image: text(of + " image"), command: [text(of + " command")], args: [text(of + " argument")], workingDir: "/" + text(of + " directory"), terminationMessagePath: "/" + text(of + " message path"), env: [{ name: "A", value: text(of + " variable") }],
    readinessProbe: { httpGet: { path: "/" + text(of + " probe path"), port: 80, httpHeaders: [{ name: "X-A", value: text(of + " probe header") }] }, periodSeconds: 600 } });
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "lost1", annotations: annotations("node"), labels: { "topology.kubernetes.io/zone": "d" } } };
  const bound = { apiVersion: "v1", kind: "Pod", metadata: { name: "hostile", namespace: "shop", annotations: annotations("pod") }, spec: { nodeName: "lost1", containers: [container("pod")] } };
  const pending = { apiVersion: "v1", kind: "Pod", metadata: { name: "hostile-pending", namespace: "shop", annotations: annotations("pending pod") },
    spec: { schedulerName: text("scheduler name"), nodeSelector: { "berth.dev/missing": "yes" }, containers: [container("pending pod")] } };
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "hostile", namespace: "shop", annotations: annotations("budget") },
    spec: { maxUnavailable: 0, selector: { matchLabels: { none: "none" } } } };
  const priority = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "hostile", annotations: annotations("priority class") }, value: 5, description: text("priority class description") };
  const event = (name, reason) => ({ apiVersion: "v1", kind: "Event", metadata: { name, namespace: "shop" }, type: "Warning", reason, message: text(name + " message"), count: 1,
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "gone", uid: "gone-" + name, fieldPath: text(name + " field path") }, source: { component: text(name + " component"), host: text(name + " host") },
    firstTimestamp: "2026-01-01T00:00:00Z", lastTimestamp: "2026-01-01T00:00:00Z" });
  const objects = [node, bound, pending, budget, priority, event("hostile-preempted", "Preempted"), event("hostile-evicted", "Evicted"), event("hostile-other", text("event reason"))];
  const now = new Date().toISOString().replace(/\.\d+/, "");
  const condition = (type, status) => ({ type, status, reason: text("reason of condition " + type.slice(0, 20)), message: text("message of condition " + type.slice(0, 20)), lastTransitionTime: now, lastHeartbeatTime: now });
  const patches = [
    ["node", "lost1", "", { conditions: [condition("Ready", "False"), condition("MemoryPressure", "True"), condition(text("condition type"), "True")],
      nodeInfo: { ...Object.fromEntries(["machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "operatingSystem", "architecture"].map((k) => [k, text(k)])), kubeProxyVersion: "" },
      images: [{ names: [text("image of the node")], sizeBytes: 1 }] }],
    ["pod", "hostile", "shop", { phase: "Running", message: text("status message"), reason: text("status reason"), nominatedNodeName: "",
      conditions: [{ type: "Ready", status: "False", reason: "A", message: text("message of condition Ready of the pod") }, { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: text("message of condition DisruptionTarget") }],
      containerStatuses: [{ name: "c", image: text("image of the status"), imageID: text("image ID"), ready: false, restartCount: 1, state: { waiting: { reason: text("reason of waiting"), message: text("message of waiting") } }, lastState: { terminated: { exitCode: 1, reason: text("reason of termination"), message: text("message of termination"), containerID: text("container ID") } } }] }],
  ];
  return { objects, patches, fields };
}

// urlText is markup in a URL.
export const urlText = "%3Cimg%20src=x%20onerror=window.pwned=1%3E";

// fieldsOfViews are the fields whose text the views show. Other views show none.
export const fieldsOfViews = {
  queue: ["scheduler name"],
  "pod/shop/hostile": ["message of termination", "message of waiting", "reason of termination", "reason of waiting"],
  "pod/shop/hostile-pending": ["scheduler name"],
  "compare?pod=shop/hostile-pending": ["scheduler name"],
  ["compare?pod=shop/hostile-pending&with=" + urlText]: ["scheduler name"],
  displacements: ["hostile-evicted component", "hostile-evicted host", "hostile-evicted message"],
};
