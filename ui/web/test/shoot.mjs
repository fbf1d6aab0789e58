// Opens views of the page in Debian's Chromium and writes screenshots NAME-1280.png, NAME-390.png and NAME-1280-dark.png:
//   node test/shoot.mjs LINK DIRECTORY NAME=VIEW...
import { chromium } from "playwright-core";

const [link, out, ...views] = process.argv.slice(2);
if (views.length === 0) throw new Error("usage: node test/shoot.mjs LINK DIRECTORY NAME=VIEW...");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ colorScheme: "light" });
const page = await context.newPage();
page.on("console", (m) => { if (m.type() === "error") console.error("console:", m.text()); });
page.on("pageerror", (e) => console.error("error:", e.message));
await page.goto(link);
await page.waitForSelector("header");
const origin = new URL(link).origin;
for (const argument of views) {
  const [name, ...rest] = argument.split("="), view = rest.join("=");
  await page.goto(origin + "/ui/" + view);
  await page.waitForSelector(".answer, [role=alert]");
  if (name === "node") await page.waitForSelector(".forecast canvas", { timeout: 60000 }); // a trend needs ten seconds
  for (const [width, scheme] of [[1280, "light"], [390, "light"], [1280, "dark"]]) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : name === "pod" ? 1150 : 800 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(1500);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (overflow > 0) console.error(`${view} at ${width}: ${overflow} pixels wider than the window`);
    await page.screenshot({ path: `${out}/${name}-${width}${scheme === "dark" ? "-dark" : ""}.png` });
  }
}
await browser.close();
