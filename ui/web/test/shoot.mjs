// Opens each view of the page at URL in Debian's Chromium and writes screenshots:
//   node test/shoot.mjs LINK DIRECTORY [VIEW...]
import { chromium } from "playwright-core";

const [link, out, ...views] = process.argv.slice(2);
if (!link || !out) throw new Error("usage: node test/shoot.mjs LINK DIRECTORY [VIEW...]");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ colorScheme: "light" });
const page = await context.newPage();
page.on("console", (m) => { if (m.type() === "error") console.error("console:", m.text()); });
page.on("pageerror", (e) => console.error("error:", e.message));
await page.goto(link);
await page.waitForSelector("header");
const origin = new URL(link).origin;
for (const view of views) {
  const name = view.split(/[/?]/)[0];
  for (const [width, scheme] of [[1280, "light"], [390, "light"], [1280, "dark"]]) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(origin + "/ui/" + view);
    await page.waitForSelector(".answer, [role=alert]");
    await page.waitForTimeout(700);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (overflow > 0) console.error(`${view} at ${width}: ${overflow} pixels wider than the window`);
    await page.screenshot({ path: `${out}/${name}-${width}${scheme === "dark" ? "-dark" : ""}.png` });
  }
}
await browser.close();
