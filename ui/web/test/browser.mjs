// Tests the page in Chromium against the answers of the command line: node test/browser.mjs BERTH KUBECONFIG LINK
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [berth, kubeconfig, link] = process.argv.slice(2);
if (!link) throw new Error("usage: node test/browser.mjs BERTH KUBECONFIG LINK");
const run = (...args) => execFileSync(berth, [...args, "--kubeconfig", kubeconfig], { encoding: "utf8", maxBuffer: 1 << 26 });
const answer = (...args) => JSON.parse(run(...args, "-o", "json"));
const origin = new URL(link).origin;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const problems = [];
page.on("pageerror", (e) => problems.push(e.message));
page.on("console", (m) => { if (m.type() === "error") problems.push(m.text()); });
page.on("request", (r) => { if (!r.url().startsWith(origin + "/")) problems.push("request to another host: " + r.url()); });

const open = async (view) => {
  await page.goto(origin + "/ui/" + view);
  await page.waitForSelector(".answer, [role=alert]");
};
// eventually reads a text until it matches a pattern, because the page follows the cluster with a delay.
const eventually = async (read, pattern) => {
  let text = "";
  for (let i = 0; i < 100; i++) {
    text = await read();
    if (pattern.test(text)) return text;
    await page.waitForTimeout(100);
  }
  assert.match(text, pattern);
};
const summary = () => page.locator(".answer").first().innerText();

const tests = {
  "the link signs in once": async () => {
    const otherBrowser = await (await browser.newContext()).newPage();
    await otherBrowser.goto(origin + "/ui/queue");
    await otherBrowser.waitForSelector("text=Open the link");
    await page.goto(link);
    await page.waitForSelector("header");
    assert.equal(new URL(page.url()).hash, "");
    await otherBrowser.goto(link);
    await otherBrowser.waitForSelector("text=was used before");
  },
  "fleet: free cpu is that of the API": async () => {
    await open("fleet");
    const pods = answer("kubectl", "get", "pods", "-A").items.filter((p) => p.spec.nodeName);
    const nodes = answer("kubectl", "get", "nodes").items;
    const capacity = nodes.reduce((n, o) => n + Number(o.status.allocatable.cpu), 0);
    const used = pods.reduce((n, p) => n + p.spec.containers.reduce((m, c) => m + Number(c.resources?.requests?.cpu ?? 0), 0), 0);
    await eventually(summary, new RegExp(`^${capacity - used} of ${capacity} cpu free on ${nodes.length} nodes`));
  },
  "fleet: arrow keys select nodes": async () => {
    await page.locator("canvas").focus();
    await page.keyboard.press("Home");
    const first = await page.locator("#selected-node h2").innerText();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((name) => document.querySelector("#selected-node h2")?.textContent !== name, first);
    assert.match(page.url(), /node=n/);
    await page.reload();
    await page.waitForSelector("#selected-node h2");
  },
  "pod: nodes, plugins and suggestions are those of berth explain": async () => {
    await open("pod/shop/misfit");
    const want = answer("explain", "pod", "shop/misfit");
    await eventually(summary, new RegExp(`none of ${want.nodes.length} nodes accepts it`));
    const text = await page.locator("main").innerText();
    for (const s of want.suggestions) assert.ok(text.includes(s.message), s.message);
    for (const t of want.requeueTriggers) assert.ok(text.includes(t.plugin + ": " + t.events.join(", ")), t.plugin);
    for (const n of want.nodes) assert.ok(text.includes(n.numbers[0].message), n.name);
    const web = answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=web").items[0];
    await open("pod/shop/" + web.metadata.name);
    const scored = answer("explain", "pod", "shop/" + web.metadata.name);
    await eventually(summary, new RegExp(`is on ${web.spec.nodeName}`));
    for (const n of scored.nodes.filter((n) => n.feasible)) {
      const row = page.locator("tr", { has: page.locator(`td:first-child:text-matches("^${n.name}( |$)")`) });
      assert.equal(await row.locator("td").nth(1).innerText(), String(n.total), n.name);
    }
  },
  "queue: entries are those of berth queue": async () => {
    await open("queue");
    const want = answer("queue").pods;
    await eventually(summary, new RegExp(`^${want.length} pods wait`));
    for (const p of want) await page.waitForSelector(`text=${p.pod}`);
    await page.locator("summary", { hasText: "Events that let it be tried again" }).first().click();
    await page.waitForSelector("text=Smallest change");
  },
  "displacements: entries are those of berth evictions": async () => {
    run("kubectl", "taint", "nodes", "--all", "test=1:NoExecute");
    run("kubectl", "taint", "nodes", "--all", "test-");
    await open("displacements");
    await eventually(summary, /[1-9]\d* pods? (was|were) displaced/);
    let want = [];
    await eventually(async () => {
      want = answer("evictions", "-A", "--all").displacements;
      return (await summary()).startsWith(`${want.length} pod`) ? "equal" : "";
    }, /equal/);
    for (const d of want.slice(0, 20)) await page.waitForSelector(`text=${d.pod.namespace}/${d.pod.name}`);
  },
  "budgets: figures are those of the API": async () => {
    await open("budgets");
    for (const b of answer("kubectl", "get", "pdb", "-A").items) {
      const entry = page.locator("li", { hasText: `${b.metadata.namespace}/${b.metadata.name}` });
      await eventually(async () => {
        const { disruptionsAllowed: allowed } = answer("kubectl", "get", "pdb", "-n", b.metadata.namespace, b.metadata.name).status;
        return (await entry.last().innerText()).includes(`\n${allowed} eviction${allowed === 1 ? "" : "s"} allowed now`) ? "equal" : "";
      }, /equal/);
    }
    const closed = await page.locator("li", { hasText: "shop/closed" }).last().innerText();
    assert.match(closed, /0 evictions allowed now/);
  },
  "text of the cluster is not interpreted": async () => {
    for (const view of ["fleet?colour=owner", "queue", "pod/shop/markup", "displacements", "budgets", "pod/shop/%3Cimg%20src=x%20onerror=window.pwned=1%3E", "fleet?group=%3Cb%3E&selector=%3Cscript%3E", "%3Cscript%3E"]) {
      await page.goto(origin + "/ui/" + view);
      await page.waitForSelector("main h1, main [role=alert]");
      await page.waitForTimeout(300);
      assert.equal(await page.evaluate(() => window.pwned), undefined, view);
      assert.equal(await page.locator("main img, main script").count(), 0, view);
    }
    problems.splice(0, problems.length, ...problems.filter((p) => !/status of (400|404|502)/.test(p))); // answers to the invalid names above
  },
  "each view is reachable by keyboard": async () => {
    await open("fleet");
    const seen = new Set();
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press("Tab");
      seen.add(await page.evaluate(() => document.activeElement?.textContent?.trim() ?? ""));
    }
    for (const name of ["Skip to the view", "Fleet", "Pod", "Queue", "Displacements", "Budgets", "Copy"]) assert.ok(seen.has(name), `Tab does not reach ${name}`);
    await page.getByRole("link", { name: "Queue", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1:has-text('Which pods wait')");
  },
  "axe reports no serious issue": async () => {
    const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const view of ["fleet?node=n1", "pod/shop/misfit", "queue", "displacements", "budgets"]) {
        await open(view);
        await page.evaluate(axe + ";0");
        const { violations } = await page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.filter((v) => /serious|critical/.test(v.impact)).map((v) => `${view}: ${v.id}: ${v.nodes[0].html}`), []);
      }
    }
  },
  "no view is wider than 390 pixels": async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const view of ["fleet", "pod/shop/misfit", "queue", "displacements", "budgets"]) {
      await open(view);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
    }
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  problems.length = 0;
  try {
    await test();
    assert.deepEqual(problems, []);
    console.log("ok   " + name);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${e.message}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
