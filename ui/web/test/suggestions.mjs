// Tests of the results of suggestions on the fleet.
import assert from "node:assert/strict";
import { answer, apply, eventually, open, page, run } from "./harness.mjs";

const cores = (p) => p.spec.containers.reduce((n, c) => n + Number(c.resources?.requests?.cpu ?? 0), 0);
const result = () => page.locator("#suggestion-result").innerText();

// shown returns the text about the pod's node that a suggestion of berth explain must give.
function shown(pod, s, pods, nodes) {
  const removed = s.changes.filter((c) => c.kind === "RemovePod").map((c) => c.pod), added = s.changes.find((c) => c.kind === "AddNode");
  const lowered = s.changes.find((c) => c.kind === "LowerRequest"), freed = s.changes.filter((c) => c.kind === "FreeResource").reduce((n, c) => n + c.amount / 1000, 0);
  const there = pods.filter((p) => p.spec.nodeName === s.node && !removed.includes(`${p.metadata.namespace}/${p.metadata.name}`));
  const used = there.reduce((n, p) => n + cores(p), 0) - freed + (lowered ? lowered.amount / 1000 : cores(pod));
  const capacity = added?.size?.cpu / 1000 || Number(nodes.find((n) => n.metadata.name === (added?.node ?? s.node)).status.allocatable.cpu), count = there.length + 1;
  return `shop/${pod.metadata.name} runs on ${s.node}${added ? ", which is added" : ""}: ${used} of ${capacity} cpu requested by ${count} pod${count === 1 ? "" : "s"}, ${Math.max(0, capacity - used)} free.`;
}

// drawn returns the number of pixels of the map with a color.
const drawn = (r, g, b) => page.locator("canvas").evaluate((canvas, [r, g, b]) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) n++;
  return n;
}, [r, g, b]);

// checkAll opens each suggestion of a pod and compares the result with that of berth explain.
async function checkAll(name) {
  const want = answer("explain", "pod", "shop/" + name).suggestions;
  const nodes = answer("kubectl", "get", "nodes").items, pods = answer("kubectl", "get", "pods", "-A").items, pod = pods.find((p) => p.metadata.name === name);
  await open("pod/shop/" + name);
  for (const s of want) {
    await page.locator(`.suggestions button[aria-label$=": ${s.message}"]`).click();
    assert.equal(new URL(page.url()).searchParams.get("suggestion"), s.message);
    await eventually(() => page.locator("section[aria-label='Result on the fleet'] h3").innerText(), new RegExp("^After: " + s.message.replace(/[^\w ]/g, "\\$&") + "$"));
    assert.equal(await result(), shown(pod, s, pods, nodes), s.message);
    const count = nodes.length + s.changes.filter((c) => c.kind === "AddNode").length;
    assert.equal(await page.locator("canvas").getAttribute("aria-label"), `Map of ${count} nodes after the change. Arrow keys select a node.`);
    await eventually(async () => String(await drawn(0xd5, 0x5e, 0) > 20), /true/); // the highlighted pod
    const removed = s.changes.filter((c) => c.kind === "RemovePod");
    assert.equal(await page.locator("#removed").count(), removed.length ? 1 : 0);
    for (const c of removed) assert.ok((await page.locator("#removed").innerText()).includes(`${c.pod} from ${c.node} (${c.preemptible ? "preempted" : "deleted"})`), c.pod);
  }
  return want;
}

export const suggestionTests = {
  "pod: the result of each suggestion is shown on the fleet": async () => {
    const node = answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=web").items[0].spec.nodeName;
    apply([{ apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "patient" }, value: 500, preemptionPolicy: "Never" },
      { apiVersion: "v1", kind: "Pod", metadata: { name: "tight", namespace: "shop" }, spec: { priorityClassName: "patient", nodeSelector: { "kubernetes.io/hostname": node }, containers: [{ name: "c", image: "x", resources: { requests: { cpu: "6" } } }] } }]);
    try {
      await eventually(() => answer("explain", "pod", "shop/tight").outcome, /unschedulable/);
      const want = await checkAll("tight");
      for (const kind of ["FreeResource", "LowerRequest", "RemovePod", "DropSelector"]) assert.ok(want.some((s) => s.changes.some((c) => c.kind === kind)), kind);
      const text = await result();
      await page.reload();
      await page.waitForSelector("#suggestion-result");
      assert.equal(await result(), text);
    } finally {
      run("kubectl", "delete", "pod", "tight", "-n", "shop", "--wait=false");
    }
    const added = (await checkAll("misfit")).filter((s) => s.changes[0].kind === "AddNode");
    assert.ok(added.length >= 2, "several nodes can be added");
    assert.equal(await page.locator(".suggestions li", { hasText: "add a node like" }).count(), 1);
    assert.equal(await page.locator(".suggestions li", { hasText: "add a node like" }).locator("button").count(), added.length);
    await page.locator(".suggestions button[aria-pressed=true]").click();
    await page.waitForSelector("#suggestion-result", { state: "detached" });
    await open("pod/shop/misfit?suggestion=none");
    await page.waitForSelector("text=The suggestion in this link no longer helps: none");
  },
};
