// The page of a cluster in Chromium, and the answers of the command line: node test/browser.mjs BERTH KUBECONFIG LINK TLS-PAGE
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

// tlsPage is the page of berth up.
export const [berth, kubeconfig, link, tlsPage] = process.argv.slice(2);
if (!tlsPage) throw new Error("usage: node test/browser.mjs BERTH KUBECONFIG LINK TLS-PAGE");
export const run = (...args) => execFileSync(berth, [...args, "--kubeconfig", kubeconfig], { encoding: "utf8", maxBuffer: 1 << 26 });
export const apply = (objects) => execFileSync(berth, ["kubectl", "apply", "--kubeconfig", kubeconfig, "-f", "-"], { encoding: "utf8", input: JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }) });
// answer returns the JSON output of a command, which may report its result by an exit code.
export const answer = (...args) => {
  try {
    return JSON.parse(run(...args, "-o", "json"));
  } catch (e) {
    if (!e.stdout) throw e;
    return JSON.parse(e.stdout);
  }
};
export const origin = new URL(link).origin;
export const scenario = `node n1..n4 cpu=4
pod web1..web8 cpu=1 labels=app=web owner=web replace priority=1
pod batch1..batch8 cpu=1 grace=5s
budget web match=app=web minAvailable=7
at 10s pod urgent1..urgent6 cpu=1 priority=100
at 1m drain n2
until 3m
expect pod urgent1 bound
`;
// simulated returns the output of berth simulate for the scenario.
export const simulated = (...args) => {
  const dir = mkdtempSync(join(tmpdir(), "scenario-"));
  try {
    writeFileSync(join(dir, "scenario.txt"), scenario);
    return JSON.parse(execFileSync(berth, ["simulate", "--scenario", join(dir, "scenario.txt"), "--timeline", "all", "-o", "json", ...args], { encoding: "utf8", maxBuffer: 1 << 26 }));
  } finally {
    rmSync(dir, { recursive: true });
  }
};
export const withScenario = (view, options = {}) => view + "?" + new URLSearchParams({ scenario, ...options });

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
export const page = await context.newPage();
export const problems = [];
page.on("pageerror", (e) => problems.push(e.message));
page.on("console", (m) => { if (m.type() === "error") problems.push(m.text()); });
page.on("request", (r) => { if (!r.url().startsWith(origin + "/")) problems.push("request to another host: " + r.url()); });

export const open = async (view) => {
  await page.goto(origin + "/ui/" + view);
  await page.waitForSelector(".answer, [role=alert]");
};
// eventually reads a text until it matches a pattern, because the page follows the cluster with a delay.
export const eventually = async (read, pattern) => {
  let text = "";
  for (let i = 0; i < 100; i++) {
    text = await read();
    if (pattern.test(text)) return text;
    await page.waitForTimeout(100);
  }
  assert.match(text, pattern);
};
export const summary = () => page.locator(".answer").first().innerText();
// rows returns the cells of a table's rows.
export const rows = (label) => page.locator(`[aria-label="${label}"] tbody tr`).evaluateAll((list) => list.map((r) => [...r.cells].map((c) => c.textContent)));
export const views = ["fleet", "pod/shop/misfit", "queue", "displacements", "budgets", "drain?nodes=n2,n4", "node", "node/n1", "zones", "descheduler", "compare?pod=shop/misfit", withScenario("compare", { seedB: 1 }), withScenario("simulate")];
export const ignoreStatus = (pattern) => problems.splice(0, problems.length, ...problems.filter((p) => !pattern.test(p)));
