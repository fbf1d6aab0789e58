// Measures the time slider of the page at LINK: node test/history.mjs LINK INSTANTS. Each view must show the state of each instant.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [link, instants] = process.argv.slice(2);
if (!instants) throw new Error("usage: node test/history.mjs LINK INSTANTS");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
const problems = [];
page.on("pageerror", (e) => problems.push(e.message));
await page.goto(link);
await page.waitForSelector(".answer");
const amount = (n) => (Math.round(n * 1000) / 1000).toLocaleString("en", { maximumFractionDigits: Math.abs(n) < 10 ? 2 : 1 });
const get = (answer, at) => page.evaluate((path) => fetch(path).then((r) => r.json()), `/ui/api/history/${answer}?at=${at}`);
// expected returns what a view says first about an instant.
const expected = {
  fleet: async (at) => {
    const { nodes, pods } = await get("fleet", at);
    const requests = pods.request.reduce((n, r) => n + (pods.requests[r].cpu ?? 0), 0), capacity = nodes.reduce((n, o) => n + o.allocatable.cpu, 0);
    return `${amount(capacity - requests)} of ${amount(capacity)} cpu free`;
  },
  queue: async (at) => {
    const { pods } = await get("queue", at);
    return pods.length === 0 ? /no pod/i : `${pods.length.toLocaleString("en")} pod`;
  },
  zones: async (at) => {
    const { zones } = await get("zones", at), nodes = zones.reduce((n, z) => n + z.nodes, 0);
    return nodes.toLocaleString("en") + " node";
  },
};
for (const [view, expect] of Object.entries(expected)) {
  await page.goto(new URL(link).origin + "/ui/" + view);
  const slider = page.getByRole("slider", { name: "Time" });
  await slider.waitFor();
  const first = Number(await slider.getAttribute("min")), last = Number(await slider.getAttribute("max")), times = [];
  for (let i = 0; i < Number(instants); i++) {
    // 7919 is prime: unless it divides their number, each instant is visited once, in a mixed order.
    const time = first + Math.floor((last - first) * ((i * 7919) % Number(instants) + 1) / (Number(instants) + 1));
    const want = await expect(new Date(time * 1000).toISOString().replace(".000Z", "Z"));
    times.push(await page.evaluate(async ([time, text, regexp]) => {
      const input = document.querySelector("#time"), matches = (s) => (regexp ? new RegExp(regexp, "i").test(s) : s.includes(text));
      const start = performance.now(), at = new Date(time * 1000).toISOString().replace(".000Z", "Z");
      input.value = String(time);
      input.dispatchEvent(new Event("input", { bubbles: true }));
      while (new URLSearchParams(location.search).get("at") !== at || document.querySelector("[role=status]")?.textContent === "Loading…" || !matches(document.querySelector(".answer")?.textContent ?? "")) {
        if (performance.now() - start > 30000) throw new Error(`${at}: got ${document.querySelector(".answer")?.textContent}, want ${text || regexp}`);
        await new Promise(requestAnimationFrame);
      }
      await new Promise(requestAnimationFrame);
      return performance.now() - start;
    }, [time, typeof want === "string" ? want : "", typeof want === "string" ? "" : want.source]));
  }
  times.sort((a, b) => a - b);
  console.log(`${view} in Chromium at ${times.length} positions of the slider: median ${Math.round(times[times.length >> 1])} ms, maximum ${Math.round(times.at(-1))} ms`);
}
assert.deepEqual(problems, []);
await browser.close();
