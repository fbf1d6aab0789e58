// Measures the fleet of the page at LINK: node test/scale.mjs LINK NODES PODS. It prints "begin" and "end" around a time in which
// the page is open.
import { chromium } from "playwright-core";

const [link, nodes, pods] = process.argv.slice(2);
if (!pods) throw new Error("usage: node test/scale.mjs LINK NODES PODS");
const count = (n) => Number(n).toLocaleString("en");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
page.on("pageerror", (e) => console.error("error:", e.message));
await page.goto(link);
await page.waitForSelector("canvas");
const origin = new URL(link).origin;

// Times are in milliseconds since the start of the navigation.
await page.addInitScript(() => {
  window.times = {};
  const check = () => {
    const text = document.querySelector(".answer")?.textContent ?? "", canvas = document.querySelector("canvas");
    if (canvas && canvas.width > 100) window.times.map ??= performance.now();
    if (/cpu free/.test(text)) window.times.complete ??= performance.now();
    if (!window.times.complete) requestAnimationFrame(check);
  };
  requestAnimationFrame(check);
});
const maps = [], completes = [];
for (let i = 0; i < 3; i++) {
  await page.goto(origin + "/ui/fleet");
  await page.waitForFunction(() => window.times.complete, null, { timeout: 120000 });
  const times = await page.evaluate(() => ({ ...window.times, paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime }));
  maps.push(Math.round(times.map));
  completes.push(Math.round(times.complete));
  if (i === 0) console.log(`first contentful paint: ${Math.round(times.paint)} ms`);
}
console.log(`map of ${count(nodes)} nodes drawn: ${maps.join(", ")} ms`);
console.log(`all ${count(pods)} pods on the map: ${completes.join(", ")} ms`);

for (const zoom of ["24", "60"]) {
  await page.goto(origin + "/ui/fleet?zoom=" + zoom);
  await page.waitForFunction(() => window.times.complete, null, { timeout: 120000 });
  await page.waitForTimeout(3000);
  const frames = await page.evaluate(() => new Promise((resolve) => {
    const view = document.querySelector(".canvas"), start = performance.now(), list = [];
    let last = start, direction = 1;
    const step = (now) => {
      list.push(now - last);
      last = now;
      if (view.scrollTop + view.clientHeight >= view.scrollHeight - 1) direction = -1;
      if (view.scrollTop <= 0) direction = 1;
      view.scrollTop += 14 * direction;
      if (now - start < 10000) requestAnimationFrame(step); else resolve(list.slice(1));
    };
    requestAnimationFrame(step);
  }));
  const sorted = [...frames].sort((a, b) => a - b), total = frames.reduce((n, f) => n + f, 0);
  console.log(`panning with cells of ${zoom} px: ${(frames.length / total * 1000).toFixed(1)} frames/s, 99 % of frames within ${sorted[Math.floor(sorted.length * 0.99)].toFixed(1)} ms, longest ${sorted[sorted.length - 1].toFixed(0)} ms`);
}
await page.goto(origin + "/ui/fleet");
await page.waitForFunction(() => window.times.complete, null, { timeout: 120000 });
await page.waitForTimeout(3000);
console.log("begin");
await page.waitForTimeout(20000);
console.log("end");
const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
console.log(`browser: ${Math.round(heap / 1e6)} MB of JavaScript heap`);
await browser.close();
