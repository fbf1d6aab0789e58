// Tests of Compare and Simulate against berth simulate and berth explain.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answer, berth, eventually, open, page, rows, run, scenario, summary, withScenario } from "./harness.mjs";

// simulate returns the output of berth simulate for a scenario, and a dump if there is one.
function simulate(text, dump) {
  const dir = mkdtempSync(join(tmpdir(), "scenario-"));
  try {
    writeFileSync(join(dir, "scenario.txt"), text);
    if (dump) writeFileSync(join(dir, "dump.yaml"), dump);
    return JSON.parse(execFileSync(berth, ["simulate", "--scenario", join(dir, "scenario.txt"), ...(dump ? ["-f", join(dir, "dump.yaml")] : []), "--timeline", "all", "-o", "json"], { encoding: "utf8", maxBuffer: 1 << 26 }));
  } catch (e) {
    if (!e.stdout) throw e;
    return JSON.parse(e.stdout);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export const comparisonTests = {
  "compare: figures of two scenarios are those of berth simulate": async () => {
    const other = scenario.replace("urgent1..urgent6", "urgent1..urgent20"), a = simulate(scenario).summary, b = simulate(other).summary;
    assert.notEqual(a.pending, b.pending);
    await open(withScenario("compare", { scenarioB: other }));
    await eventually(summary, new RegExp(`^A leaves ${a.pending || "no"} pods? pending, B ${b.pending || "none"}\\.`));
    const shown = Object.fromEntries((await rows("Figures")).map((r) => [r[1], r]));
    for (const [text, key] of [["pods created", "created"], ["pods scheduled", "placed"], ["on nodes at the end", "bound"], ["pending at the end", "pending"], ["victims", "victims"], ["preemptors", "preemptors"]]) {
      assert.deepEqual(shown[text].slice(2, 4), [String(a[key]), String(b[key])], text);
      assert.equal(shown[text][4], a[key] === b[key] ? "" : (b[key] > a[key] ? "+" : "−") + Math.abs(b[key] - a[key]), text);
    }
    assert.deepEqual(await page.locator(".command code").allInnerTexts(), ["berth simulate --scenario a.txt --timeline all", "berth simulate --scenario b.txt --timeline all"]);
  },
  "compare: differing scores of two decisions are those of berth explain": async () => {
    const web = "shop/" + answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=web").items[0].metadata.name;
    await page.waitForTimeout(1100);
    const at = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString().replace(".000Z", "Z"), before = answer("explain", "pod", web);
    run("kubectl", "scale", "deployment", "movable", "-n", "shop", "--replicas", "9");
    run("kubectl", "wait", "-n", "shop", "--for=jsonpath={.status.readyReplicas}=9", "deployment/movable", "--timeout=30s");
    try {
      await page.waitForTimeout(1100); // the recording is written every second
      const a = answer("explain", "pod", web, "--at", at), b = answer("explain", "pod", web);
      assert.deepEqual(a.nodes.map((n) => n.scores), before.nodes.map((n) => n.scores));
      const score = (x, node, plugin) => String(x.nodes.find((n) => n.name === node).scores[plugin] ?? 0);
      const changed = b.nodes.filter((n) => n.feasible && Object.keys(n.scores).some((p) => score(a, n.name, p) !== score(b, n.name, p))).map((n) => n.name);
      assert.ok(changed.length > 0, "scores differ");
      await open(`compare?pod=${web}&at=${at}`);
      await eventually(summary, new RegExp(`${changed.length} of ${b.nodes.length} nodes differs?, by `));
      const head = await page.locator("[aria-label='Nodes compared'] th").allInnerTexts(), plugins = head.slice(4).map((h) => h.split(" ")[0]);
      assert.ok(plugins.includes("NodeResourcesFit"), plugins.join());
      const shown = await rows("Nodes compared");
      assert.deepEqual(shown.filter((r) => r[0] !== "").map((r) => r[1].split(" ")[0]).sort(), changed.sort());
      for (const r of shown) {
        const node = r[1].split(" ")[0], total = (x) => String(x.nodes.find((n) => n.name === node).total);
        assert.deepEqual(r.slice(2, 4), [total(a), total(b)], node);
        assert.deepEqual(r.slice(4), plugins.map((p) => score(a, node, p) === score(b, node, p) ? score(a, node, p) : `${score(a, node, p)} → ${score(b, node, p)}`), node);
      }
    } finally {
      run("kubectl", "scale", "deployment", "movable", "-n", "shop", "--replicas", "6");
    }
  },
  "simulate: an uploaded dump gives the result of berth simulate -f": async () => {
    const dump = run("kubectl", "get", "nodes,pods,deployments,replicasets,pdb,pc,ns", "-A", "-o", "yaml"), text = "at 10s delete node n3\nat 20s pod extra1..extra30 cpu=4\nuntil 2m\n";
    const want = simulate(text, dump), s = want.summary;
    await open("simulate");
    await page.getByLabel("One action per line").fill(text);
    await page.getByLabel("Start with").selectOption("file");
    await page.locator("input[name=file]").setInputFiles({ name: "dump.yaml", mimeType: "text/yaml", buffer: Buffer.from(dump) });
    await page.getByRole("button", { name: "Run" }).click();
    await eventually(summary, new RegExp(`${s.placed} of ${s.created} pods? scheduled, ${s.victims} preempted, ${s.deleted} deleted in 2m; at the end ${s.bound} on nodes, ${s.pending} pending`));
    assert.deepEqual((await rows("Events")).map((r) => r[2]), want.timeline.slice(-100).reverse().map((l) => l.text));
    assert.equal(await page.locator(".command code").innerText(), "berth simulate -f dump.yaml --scenario scenario.txt --timeline all");
  },
};
