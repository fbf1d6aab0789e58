// Tests the page in Chromium against the answers of the command line: node test/browser.mjs BERTH KUBECONFIG LINK TLS-PAGE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { commandTests } from "./commands.mjs";
import { comparisonTests } from "./comparisons.mjs";
import { evictionTests } from "./evictions.mjs";
import { figureTests } from "./figures.mjs";
import { answer, apply, browser, eventually, ignoreStatus, link, open, origin, page, problems, rows, run, simulated, summary, views, withScenario } from "./harness.mjs";
import { fieldsOfViews, hostileObjects, urlText } from "./hostile.mjs";
import { keyboardTests } from "./keyboard.mjs";
import { pageTests } from "./page.mjs";
import { suggestionTests } from "./suggestions.mjs";
import { tokenTests } from "./token.mjs";

// drained are nodes with pods that a drain moves, and with pods that it does not: the node of one movable pod and of two web pods.
const shopPods = answer("kubectl", "get", "pods", "-n", "shop").items.filter((p) => p.spec.nodeName && p.spec.nodeName !== "n1"); // n1 has pods without a controller
const nodesOf = (app) => shopPods.filter((p) => p.metadata.labels?.app === app).map((p) => p.spec.nodeName);
const drained = [...new Set([...nodesOf("movable").slice(0, 1), ...nodesOf("web").slice(0, 2)])];
const drainView = "drain?nodes=" + drained.join(",");
const whatIfs = ["budgets", "zones", drainView, "descheduler"];
let hostileFields; // set by the test that creates the objects

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
    for (const s of want.suggestions) assert.ok(text.includes(s.message) || s.changes[0].kind === "AddNode" && text.includes("or like " + s.changes[0].node), s.message);
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
  ...suggestionTests,
  "queue: entries are those of berth queue": async () => {
    await open("queue");
    const want = answer("queue").pods;
    await eventually(summary, new RegExp(`^${want.length} pods wait`));
    for (const p of want) await page.waitForSelector(`text=${p.pod}`);
    await page.waitForSelector("text=Smallest change");
  },
  ...figureTests,
  ...pageTests,
  "drain: rounds, moves and reasons are those of berth drain --what-if": async () => {
    await open(drainView);
    const want = answer("drain", ...drained, "--what-if");
    const moves = want.pods.filter((p) => p.outcome === "moved"), blocked = want.pods.filter((p) => p.outcome === "blocked");
    assert.ok(moves.length > 0 && blocked.length > 0, "the cluster has pods that move and pods that do not");
    await eventually(summary, new RegExp(`^${moves.length} of ${want.pods.length} pods? moves? in ${want.rounds} round`));
    assert.deepEqual((await rows("Moves")).map((r) => [r[0], r[1], r[2]]), moves.map((p) => [String(p.round), p.pod, p.from]));
    const text = await page.locator("main").innerText();
    for (const p of blocked) assert.ok(text.includes(p.pod) && text.includes(p.block.reason), p.pod);
    const command = await page.locator(".command code").innerText();
    assert.equal(command, `berth drain ${drained.join(" ")} --what-if`);
  },
  "drain: the slider and Play step through the rounds": async () => {
    const slider = page.locator("input[name=round]");
    await slider.focus();
    await page.keyboard.press("Home");
    await page.waitForSelector("text=Before the drain");
    assert.match(page.url(), /round=0/);
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForFunction(() => !location.search.includes("round="), null, { timeout: 15000 });
    await page.waitForSelector("text=After round");
  },
  "drain: the keyboard chooses nodes on the map": async () => {
    await open("drain");
    await page.locator("canvas").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.waitForURL(/nodes=n1(&|$)/);
    await page.waitForSelector("[role=alert]:has-text('--force')"); // hog has no controller
    await page.getByLabel("Also pods without a controller").check();
    await eventually(summary, /of \d+ pods? moves? in/);
    ignoreStatus(/status of 400/);
  },
  "node: thresholds and the order of eviction are those of berth explain node --pressure": async () => {
    await open("node/n1");
    const want = answer("explain", "node", "n1", "--pressure");
    await eventually(summary, /No threshold is met\. Closest: memory\.available.*evicted first: shop\/hog/);
    await page.locator("summary", { hasText: "other signal" }).click();
    const text = await page.locator("main").innerText();
    for (const t of want.thresholds.filter((t) => t.known)) assert.ok(text.includes(t.signal), t.signal);
    const memory = want.resources.find((r) => r.signal === "memory.available");
    assert.deepEqual((await rows("Order of eviction")).map((r) => [r[1], r[5]]), memory.pods.map((p) => [p.pod, p.reason]));
    ignoreStatus(/status of 50/); // simulated nodes have no disk report
  },
  "descheduler: moves are those of berth descheduler --dry-run, also with a limit": async () => {
    const nodes = [...new Set(answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=movable").items.map((p) => p.spec.nodeName))].slice(0, 3);
    run("kubectl", "taint", "nodes", ...nodes, "test=1:NoSchedule");
    await open("descheduler");
    const want = answer("descheduler", "--dry-run");
    assert.ok(want.moves.length >= 2, "the cluster has moves");
    await eventually(summary, new RegExp(`^${want.moves.length} moves of ${want.moves.length}`));
    const gain = (m) => m.gain ? `${m.gain.metric} ${m.gain.before} → ${m.gain.after}` : "–";
    assert.deepEqual((await rows("Moves")).map((r) => [r[1], r[2], r[3], r[4]]), want.moves.map((m) => [m.pod, m.from, m.to, gain(m)]));
    const totals = {}, points = {}; // of the frontier
    want.moves.forEach((m, i) => { if (m.gain) { const k = `${m.strategy}, ${m.gain.metric}`; totals[k] = (totals[k] ?? 0) + m.gain.before - m.gain.after; (points[k] ??= ["0: 0"]).push(`${i + 1}: ${totals[k]}`); } });
    assert.deepEqual(await page.locator(".charts .chart").evaluateAll((list) => list.map((e) => e.getAttribute("aria-label"))), Object.entries(points).map(([k, list]) => `${k} after each move: ${list.join(", ")}`));
    assert.equal(await page.locator(".charts canvas").count(), Object.keys(points).length);
    assert.ok(Object.keys(points).length > 0, "moves have gains");
    await page.locator("input[name=max]").focus();
    await page.keyboard.press("ArrowLeft");
    const limited = answer("descheduler", "--dry-run", "--max-evictions", String(want.moves.length - 1));
    await eventually(summary, new RegExp(`^${limited.moves.length} moves? of ${want.moves.length}`));
    assert.deepEqual((await rows("Moves")).map((r) => r[1]), limited.moves.map((m) => m.pod));
    assert.equal(await page.locator(".command code").innerText(), `berth descheduler --dry-run --max-evictions ${want.moves.length - 1}`);
    run("kubectl", "taint", "nodes", ...nodes, "test-");
  },
  "node: the treemap of the disk shows the figures of the report": async () => {
    const report = { fileSystems: [{ names: ["nodefs", "imagefs"], dir: "/var", capacity: 1000e6, used: 600e6, available: 400e6, other: 100e6 }], unknown: ["pod shop/x: no figures"],
      consumers: [{ kind: "image", fileSystem: "nodefs", name: "registry/app:1", bytes: 300e6 }, { kind: "volume", fileSystem: "nodefs", pod: "shop/web", name: "data", bytes: 150e6 }, { kind: "log", fileSystem: "nodefs", pod: "shop/web", name: "main", bytes: 50e6 }] };
    await page.route(/api\/node\/disk/, (r) => r.fulfill({ contentType: "text/event-stream", body: `event: answer\ndata: ${JSON.stringify(report)}\n\n` }));
    try {
      await open("node/n1");
      await page.waitForSelector(".treemap rect");
      const areas = await page.locator(".treemap rect").evaluateAll((list) => list.map((r) => ({ area: (r.width.baseVal.value + 2) * (r.height.baseVal.value + 2), fill: r.getAttribute("fill") })));
      assert.equal(areas.length, 4);
      const total = areas.reduce((n, a) => n + a.area, 0);
      assert.deepEqual(areas.map((a) => Math.round(a.area / total * 12)), [6, 3, 2, 1]); // 300, 150, 100 and 50 of 600 MB
      assert.equal(new Set(areas.map((a) => a.fill)).size, 4);
      await page.locator("summary", { hasText: "The largest as a table" }).click();
      assert.deepEqual((await rows("Consumers of nodefs, imagefs")).map((r) => [r[1], r[2], r[3]]), [["image", "", "registry/app:1"], ["volume", "shop/web", "data"], ["log", "shop/web", "main"]]);
      await page.waitForSelector("text=Not measured: pod shop/x");
    } finally {
      await page.unroute(/api\/node\/disk/);
    }
  },
  "simulate: states and events are those of berth simulate": async () => {
    const want = simulated();
    await open(withScenario("simulate"));
    const s = want.summary;
    await eventually(summary, new RegExp(`${s.placed} of ${s.created} pods scheduled, ${s.victims} preempted, ${s.deleted} deleted in 3m; at the end ${s.bound} on nodes, ${s.pending} pending`));
    const state = () => page.locator("#simulated-state").innerText();
    await eventually(state, new RegExp(`^${s.bound} pods on 4 nodes, ${s.pending} pending`));
    assert.deepEqual((await rows("Events")).map((r) => r[2]), want.timeline.slice(-100).reverse().map((l) => l.text));
    assert.equal(await page.locator(".command code").innerText(), "berth simulate --scenario scenario.txt --timeline all");
    const slider = page.locator("input[name=t]");
    await slider.focus();
    await page.keyboard.press("Home");
    await page.waitForURL(/t=0$/);
    for (let i = 0; i < 3; i++) await page.getByRole("button", { name: "Step" }).click();
    const at = Number(new URL(page.url()).searchParams.get("t"));
    assert.deepEqual((await rows("Events")).map((r) => r[2]), want.timeline.filter((l) => l.at <= at * 1e9).reverse().map((l) => l.text).slice(0, 100));
    await page.goto(origin + "/ui/" + withScenario("simulate", { t: 5 }));
    await eventually(state, /^16 pods on 4 nodes, 0 pending/);
    await page.getByLabel("Speed").selectOption("60");
    await page.getByRole("button", { name: "Play" }).click();
    await eventually(state, new RegExp(`^${s.bound} pods on 4 nodes, ${s.pending} pending`));
    await page.getByRole("button", { name: "Play" }).waitFor();
  },
  "simulate: an invalid scenario shows its line": async () => {
    await open("simulate?" + new URLSearchParams({ scenario: "node n1\npod a cpu=x\n" }));
    await eventually(summary, /^Line 2 of the scenario is not valid/);
    await page.waitForSelector("[role=alert]:has-text('cpu=x')");
    await page.waitForSelector("code:has-text('2: pod a cpu=x')");
    await page.getByLabel("One action per line").fill("load ../../etc/passwd");
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForSelector("[role=alert]:has-text('files are not available')");
    await page.getByLabel("One action per line").fill("node n1\nreplicaset a replicas=100000 cpu=1m\nuntil 10h");
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForSelector("[role=alert]:has-text('make it smaller')", { timeout: 60000 });
  },
  "simulate: the state of the cluster can be the start": async () => {
    await open("simulate");
    await page.getByLabel("One action per line").fill("at 10s delete node n3\nuntil 1m");
    await page.getByLabel("Start with").selectOption("cluster");
    await page.getByRole("button", { name: "Run" }).click();
    const nodes = answer("kubectl", "get", "nodes").items.length;
    await eventually(async () => await page.locator("#simulated-state").count() ? page.locator("#simulated-state").innerText() : "", new RegExp(`on ${nodes - 1} nodes`));
    assert.equal(answer("kubectl", "get", "nodes").items.length, nodes);
  },
  "simulate: a choice made before the first paint is kept": async () => {
    const other = await page.context().newPage();
    await other.addInitScript(() => new MutationObserver((_, observer) => {
      const select = document.querySelector("select[name=start]");
      if (!select) return;
      observer.disconnect();
      select.value = "file";
      select.dispatchEvent(new Event("change", { bubbles: true }));
    }).observe(document, { childList: true, subtree: true }));
    await other.goto(origin + "/ui/simulate");
    await other.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 500)))); // effects run after the paint
    assert.equal(await other.getByLabel("Start with").inputValue(), "file");
    assert.equal(await other.locator("input[name=file]").count(), 1);
    await other.close();
  },
  "compare: figures of two seeds are those of berth simulate": async () => {
    const a = simulated("--seed", "0").summary, b = simulated("--seed", "1").summary;
    await open(withScenario("compare", { seedB: 1 }));
    await eventually(summary, /The runs differ from/);
    const shown = Object.fromEntries((await rows("Figures")).map((r) => [r[1], r]));
    for (const [text, key] of [["pods created", "created"], ["pods scheduled", "placed"], ["victims", "victims"], ["pods deleted", "deleted"], ["attempts without a node", "rejections"]]) {
      assert.deepEqual(shown[text].slice(2, 4), [String(a[key]), String(b[key])], text);
      assert.equal(shown[text][0], a[key] === b[key] ? "" : "≠ differs", text);
    }
    await page.locator("input[name=seedB]").fill("0");
    await page.keyboard.press("Enter");
    await eventually(summary, /Both runs are identical/);
  },
  "compare: two decisions are those of berth explain": async () => {
    await page.waitForTimeout(1100);
    const at = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString().replace(".000Z", "Z");
    run("kubectl", "cordon", "n9");
    await eventually(() => answer("explain", "pod", "shop/misfit").nodes.find((n) => n.name === "n9").plugin, /NodeUnschedulable/);
    await page.waitForTimeout(1100); // the recording is written every second
    await open(`compare?pod=shop/misfit&at=${at}`);
    const a = answer("explain", "pod", "shop/misfit", "--at", at), b = answer("explain", "pod", "shop/misfit");
    await eventually(summary, new RegExp(`^Both choose no node. 1 of ${b.nodes.length} nodes differs`));
    const text = (n) => `${n.plugin}: ${n.numbers?.map((v) => v.message).join("; ") || n.reasons.join("; ")}`;
    for (const r of await rows("Nodes compared")) {
      assert.deepEqual(r.slice(2, 4), [a, b].map((x) => text(x.nodes.find((n) => n.name === r[1]))), r[1]);
      assert.equal(r[0], r[1] === "n9" ? "≠ differs" : "", r[1]);
    }
    assert.equal(await page.locator(".command code").first().innerText(), `berth explain pod shop/misfit --nodes --at ${at}`);
    run("kubectl", "uncordon", "n9");
  },
  ...comparisonTests,
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
    for (const d of want.slice(0, 20)) await page.waitForSelector(`ol a:text-is("${d.pod.namespace}/${d.pod.name}")`);
  },
  ...evictionTests,
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
  "zones: states and nodes that are not ready are those of berth zones": async () => {
    const { objects, patches, fields } = hostileObjects();
    assert.ok(fields.size >= 40, `${fields.size} fields`);
    hostileFields = fields;
    const lost = ["lost2", "lost3"].map((name) => ({ apiVersion: "v1", kind: "Node", metadata: { name, labels: { "topology.kubernetes.io/zone": "d" } } }));
    apply([...objects, ...lost]);
    for (const [kind, name, namespace, status] of patches) {
      run("kubectl", "patch", kind, name, ...(namespace ? ["-n", namespace] : []), "--subresource=status", "--type=merge", "-p", JSON.stringify({ status }));
    }
    await open("zones");
    await eventually(async () => {
      const want = answer("zones"), text = await page.locator("main").innerText();
      const unready = want.zones.flatMap((z) => z.unreadyNodes ?? []), lost = want.zones.reduce((n, z) => n + z.nodes - z.ready, 0);
      const equal = unready.length > 0 && want.zones.every((z) => text.includes(`${z.ready} of ${z.nodes} node`) && text.includes(z.state)) && unready.every((n) => text.includes(n.name)) && new RegExp(`${lost} nodes? (is|are) not ready`).test(text);
      return equal ? "equal" : JSON.stringify(want) + text;
    }, /^equal$/);
  },
  "zones: nodes that are not ready count before they are tainted": async () => {
    const zones = [{ name: "/a", state: "Normal", nodes: 36, ready: 36, taintIntervalSeconds: 10 }, { name: "/d", state: "FullDisruption", nodes: 2, ready: 0, taintIntervalSeconds: 10 }];
    await page.route(/api\/zones/, (r) => r.fulfill({ contentType: "text/event-stream", body: `event: answer\ndata: ${JSON.stringify({ allUnready: false, zones })}\n\n` }));
    try {
      await open("zones");
      assert.equal(await summary(), "2 nodes are not ready. 2 nodes are not tainted yet: no pod is evicted from them.");
      assert.match(await page.locator("li", { hasText: "FullDisruption" }).innerText(), /0 of 2 nodes ready[^]*2 nodes are not ready and not tainted yet/);
    } finally {
      await page.unroute(/api\/zones/);
    }
  },
  "time: an earlier time shows the earlier state": async () => {
    await open("fleet");
    await eventually(summary, /cpu free/);
    await page.waitForTimeout(2000);
    const live = {};
    for (const view of whatIfs) {
      await open(view);
      live[view] = await eventually(summary, view === "budgets" ? /of \d+ budgets/ : /\d|No move helps now/);
    }
    await open("fleet");
    await eventually(summary, /cpu free/);
    await page.waitForTimeout(1000);
    const before = await summary(), at = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString().replace(".000Z", "Z");
    await page.waitForTimeout(2000);
    run("kubectl", "scale", "deployment", "web", "-n", "shop", "--replicas", "1");
    await eventually(async () => (await summary() === before ? "" : "changed"), /changed/);
    const waiting = answer("queue").pods.map((p) => p.pod);
    await open("fleet?at=" + at);
    await eventually(async () => (await summary() === before ? "equal" : await summary()), /equal/);
    await page.getByRole("link", { name: "Queue", exact: true }).click();
    await eventually(async () => page.url(), new RegExp("queue\\?at="));
    for (const pod of waiting) await page.waitForSelector(`text=${pod}`);
    for (const view of whatIfs) {
      await open(view);
      if (view === drainView) await eventually(async () => (await summary() === live[view] ? "" : "changed"), /changed/);
      await open(view + (view.includes("?") ? "&at=" : "?at=") + at);
      await eventually(async () => (await summary() === live[view] ? "equal" : live[view] + " | " + await summary()), /^equal$/);
    }
    await open(`node/n1?at=${new Date().toISOString()}`);
    await page.waitForSelector("text=The last recorded report of this node");
    assert.match(await summary(), /evicted first: shop\/hog|No threshold is met/);
    assert.doesNotMatch(await page.locator("main").innerText(), /Measuring the trend/); // a report has no trend
    await open(`pod/shop/misfit?at=${at}`);
    await eventually(summary, new RegExp(`none of ${answer("explain", "pod", "shop/misfit").nodes.length} nodes accepts it`));
    const slider = page.getByRole("slider", { name: "Time" });
    assert.match(await slider.getAttribute("aria-valuetext"), / ago$/);
    await slider.focus();
    await page.keyboard.press("End");
    await eventually(async () => page.url(), /misfit$/);
    assert.equal(await slider.getAttribute("aria-valuetext"), "live");
    await page.keyboard.press("ArrowLeft");
    await eventually(async () => page.url(), /at=/);
  },
  "text of the cluster is not interpreted": async () => {
    const name = urlText;
    const all = [...views, "fleet?color=owner&node=lost1", "fleet?group=%3Cb%3E&selector=%3Cscript%3E&resource=" + name + "&node=" + name, "pod/shop/markup", "pod/shop/hostile", "pod/shop/hostile-pending", "pod/shop/" + name,
      "pod/" + name + "/a", "queue?state=" + name, "displacements?cause=" + name, "budgets?namespace=" + name, "drain?nodes=lost1&force=true", "drain?nodes=" + name + "&round=" + name + "&node=" + name, "node/lost1", "node/" + name,
      "node/n1?signal=" + name, "descheduler?max=" + name, "compare?pod=shop/" + name, "compare?pod=shop/hostile-pending", "compare?pod=shop/hostile-pending&with=" + name, "compare?seedB=" + name + "&scenario=" + name, "simulate?scenario=" + name, "simulate?from=cluster&scenario=&node=" + name, "%3Cscript%3E"];
    const fields = async () => {
      const numbers = [...(await page.locator("main").innerText()).matchAll(/<img src=x onerror=window\.pwned=(\d+)>/g)].map((m) => Number(m[1]));
      return [...new Set(numbers.filter((n) => hostileFields.has(n)).map((n) => hostileFields.get(n)))].sort().join(", ");
    };
    assert.ok(Object.keys(fieldsOfViews).every((v) => all.includes(v)));
    for (const view of all) {
      await page.goto(origin + "/ui/" + view);
      await page.waitForSelector("main h1, main [role=alert]");
      await page.waitForTimeout(400);
      const want = (fieldsOfViews[view] ?? []).join(", ");
      for (let i = 0; i < 100 && await fields() !== want; i++) await page.waitForTimeout(100);
      assert.equal(await fields(), want, view);
      assert.equal(await page.evaluate(() => window.pwned), undefined, view);
      assert.equal(await page.locator("body img, main script, [onerror], [onload]").count(), 0, view);
    }
    ignoreStatus(/status of (400|403|404|50\d)/); // answers to the invalid names above
  },
  ...commandTests,
  ...keyboardTests,
  ...tokenTests,
  "axe reports no serious issue": async () => {
    const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const view of ["fleet?node=n1", ...views.slice(1), "queue?at=" + new Date().toISOString()]) {
        await open(view);
        await page.evaluate(axe + ";0");
        const { violations } = await page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.filter((v) => /serious|critical/.test(v.impact)).map((v) => `${view}: ${v.id}: ${v.nodes[0].html}`), []);
      }
    }
    ignoreStatus(/status of 50/); // simulated nodes have no disk report
  },
  "no view is wider than 390 pixels": async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    for (const view of views) {
      await open(view);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
    }
    ignoreStatus(/status of 50/);
  },
};

const selected = process.env.TESTS ? new RegExp(process.env.TESTS) : /./;
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (name !== "the link signs in once" && !selected.test(name)) continue;
  problems.length = 0;
  const start = Date.now();
  try {
    await test();
    assert.deepEqual(problems, []);
    console.log(`ok   ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${e.message}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
