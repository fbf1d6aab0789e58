// Tests of figures of Fleet, Pod, Queue and Node against the API and the command line.
import assert from "node:assert/strict";
import { answer, eventually, ignoreStatus, open, page, rows, run, summary } from "./harness.mjs";

const units = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };
const bytes = (text) => { const m = /^([\d.]+)(Ki|Mi|Gi)?$/.exec(text ?? "0"); return Number(m[1]) * (units[m[2]] ?? 1); };
const gibibytes = (n) => n === 0 ? "0 B" : `${Math.round(n / units.Gi * 10) / 10} Gi`;
const counted = (list) => list.reduce((out, v) => out.set(v, (out.get(v) ?? 0) + 1), new Map());

// ages returns how the page may show the time since an instant, if it was drawn in the last seconds.
const ages = (time, seconds = 20) => Array.from({ length: seconds }, (_, i) => Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000) - i)).map((s) => s < 120 ? `${s} s` : `${Math.floor(s / 60)} min`);

export const figureTests = {
  "fleet: the summary counts room on nodes with taints": async () => {
    run("kubectl", "taint", "nodes", "n12", "test=1:NoSchedule");
    try {
      await open("fleet");
      const used = answer("kubectl", "get", "pods", "-A").items.filter((p) => p.spec.nodeName === "n12").reduce((n, p) => n + p.spec.containers.reduce((m, c) => m + Number(c.resources?.requests?.cpu ?? 0), 0), 0);
      await eventually(summary, new RegExp(`${8 - used} of it is on 1 node with taints`));
      assert.doesNotMatch(await summary(), /most on n12/);
      assert.deepEqual((await rows("Nodes")).filter((r) => r.at(-1) !== "ready").map((r) => [r[0], r.at(-1)]), [["n12", "tainted"]]);
    } finally {
      run("kubectl", "taint", "nodes", "n12", "test-");
    }
  },
  "fleet: the table with group, selector and memory, and the legend": async () => {
    const key = "test.berth.dev/part";
    run("kubectl", "label", "nodes", "n1", "n2", "n3", key + "=a");
    run("kubectl", "label", "nodes", "n4", "n5", key + "=b");
    try {
      const nodes = answer("kubectl", "get", "nodes", "-l", key).items, pods = answer("kubectl", "get", "pods", "-A").items.filter((p) => nodes.some((n) => n.metadata.name === p.spec.nodeName));
      const want = nodes.map((n) => {
        const list = pods.filter((p) => p.spec.nodeName === n.metadata.name), used = list.reduce((m, p) => m + p.spec.containers.reduce((s, c) => s + bytes(c.resources?.requests?.memory), 0), 0);
        return [n.metadata.name, n.metadata.labels[key], gibibytes(bytes(n.status.allocatable.memory) - used), gibibytes(used), String(list.length), "ready"];
      }).sort();
      await open(`fleet?group=${encodeURIComponent(key)}&selector=${encodeURIComponent(key + " in (a, b)")}&resource=memory&color=qos`);
      await eventually(async () => JSON.stringify((await rows("Nodes")).sort()), new RegExp("^" + JSON.stringify(want).replace(/[^\w]/g, "\\$&") + "$"));
      assert.deepEqual((await rows("Nodes")).map((r) => r[1]), ["a", "a", "a", "b", "b"]);
      assert.ok(want.some((r) => r[3] !== "0 B"), "a pod requests memory");
      const legend = async () => Object.fromEntries((await page.locator(".legend li:has(svg)").allInnerTexts()).map((t) => /^(.*) (\d+) pods?$/.exec(t).slice(1)));
      assert.deepEqual(await legend(), Object.fromEntries([...counted(pods.map((p) => p.status.qosClass))].map(([k, n]) => [k, String(n)])));
      await page.getByLabel("Color by").selectOption("priority");
      assert.deepEqual(await legend(), Object.fromEntries([...counted(pods.map((p) => "priority " + (p.spec.priority ?? 0)))].map(([k, n]) => [k, String(n)])));
      assert.equal(await page.locator(".command code").innerText(), `berth kubectl describe nodes -l '${key} in (a, b)'`);
    } finally {
      run("kubectl", "label", "nodes", "n1", "n2", "n3", "n4", "n5", key + "-");
    }
  },
  "pod: the scores of each plugin are those of berth explain": async () => {
    const web = answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=web").items[0].metadata.name;
    await open("pod/shop/" + web);
    await page.waitForSelector("[aria-label='Plugins by nodes'] tbody tr");
    const want = answer("explain", "pod", "shop/" + web), feasible = want.nodes.filter((n) => n.feasible);
    const head = await page.locator("[aria-label='Plugins by nodes'] th").allInnerTexts(), plugins = head.slice(2, -1);
    assert.deepEqual(plugins, [...new Set(feasible.flatMap((n) => Object.keys(n.scores)))].sort());
    const shown = new Map((await rows("Plugins by nodes")).map((r) => [r[0].split(" ")[0], r]));
    for (const n of feasible) assert.deepEqual(shown.get(n.name).slice(1, -1), [n.total, ...plugins.map((p) => n.scores[p] ?? 0)].map(String), n.name);
    assert.ok(feasible.length > 1 && plugins.length > 3, "scores of several nodes and plugins");
  },
  "queue: state, times, message and events are those of berth queue and berth explain": async () => {
    await open("queue?namespace=shop");
    const want = answer("queue", "-n", "shop").pods;
    await eventually(summary, new RegExp(`^${want.length} pods wait`));
    await page.waitForSelector("text=Smallest change");
    for (const p of want) {
      const entry = await page.locator("ol > li", { has: page.locator(`a:text-is("${p.pod}")`) }).innerText();
      assert.match(entry, new RegExp(`\\b${p.state}\\b`), p.pod);
      assert.ok(entry.includes("priority " + p.priority), p.pod);
      assert.ok(ages(p.created).some((a) => entry.includes("waits " + a)), `${p.created} in ${entry}`);
      if (p.since !== p.created) assert.ok(ages(p.since).some((a) => entry.includes(`${p.state} for ${a}`)), `${p.since} in ${entry}`);
      assert.ok(entry.includes(p.message ? p.message.split(" preemption: ")[0] : p.scheduler), `${p.message ?? p.scheduler} in ${entry}`);
      if (p.state !== "unschedulable") continue;
      for (const t of answer("explain", "pod", p.pod).requeueTriggers) assert.ok(entry.includes(`${t.plugin}: ${t.events.join(", ")}`), `${t.plugin} in ${entry}`);
    }
    assert.ok(want.some((p) => p.state === "unschedulable"));
    assert.equal(await page.locator("details").count(), 0); // events of the first pods are open
    assert.equal(await page.locator(".command code").innerText(), "berth queue -n shop --all");
  },
  "node: the forecast continues the measured values to the threshold": async () => {
    await open("node/n1");
    await page.waitForSelector("text=/Falls by .* per second/", { timeout: 30000 });
    const text = await page.locator("li", { hasText: /^memory\.available/ }).first().innerText();
    const found = /Falls by 1\.7 Mi per second over the last \d+ s: at this rate the threshold is reached in (\d+) min/.exec(text); // the annotation of pod hog: 1 GiB in 600 s
    const memory = answer("explain", "node", "n1", "--pressure").thresholds.find((t) => t.signal === "memory.available");
    assert.ok(found, text);
    assert.ok(Math.abs(Number(found[1]) - (memory.available - memory.threshold) / (2 ** 30 / 600) / 60) < 3, `${found[1]} min, want ${JSON.stringify(memory)}`);
    const chart = page.getByRole("img", { name: /^memory\.available over time: Falls by 1\.7 Mi per second .*the threshold is 100 Mi\.$/ });
    const columns = await chart.locator("canvas").evaluate((canvas) => { // columns with the color of the line, from the left to the end of the forecast
      const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), out = [];
      for (let x = 0; x < width; x++) for (let y = 0; y < height; y++) { const i = (y * width + x) * 4; if (data[i] === 0 && data[i + 1] === 0x72 && data[i + 2] === 0xb2) { out.push(x / width); break; } }
      return out;
    });
    assert.ok(columns.at(-1) > 0.9 && columns.length > 50, "the forecast reaches the right end");
    const gaps = columns.filter((x, i) => i > 0 && x - columns[i - 1] > 0.003).length;
    assert.ok(gaps > 10, `the forecast is dashed: ${gaps} gaps`);
    ignoreStatus(/status of 50/); // simulated nodes have no disk report
  },
};
