// A walk through every view with Tab, Shift+Tab, Enter and arrow keys alone.
import assert from "node:assert/strict";
import { answer, ignoreStatus, open, page } from "./harness.mjs";

const focused = () => page.evaluate(() => { const e = document.activeElement; return `${e.tagName} ${e.getAttribute("name") ?? ""} ${e.getAttribute("aria-label") ?? e.textContent.trim()}`; });

// tabTo presses a key until the focused element matches.
async function tabTo(pattern, key = "Tab") {
  const seen = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press(key);
    seen.push(await focused());
    if (pattern.test(seen.at(-1))) return;
  }
  throw new Error(`${key} does not reach ${pattern}: ${seen.join(" | ")}`);
}

// steps are what a user does in each view, and the text that then appears.
const steps = [
  ["Pod", async () => { await tabTo(/^INPUT pod/); await page.keyboard.type("shop/misfit"); await page.keyboard.press("Enter"); await page.waitForSelector("text=none of"); await tabTo(/^BUTTON .*Show on the fleet/); await page.keyboard.press("Enter"); }, "shop/misfit runs on"],
  ["Queue", async () => { await tabTo(/^A .*shop\/misfit/); await page.keyboard.press("Enter"); }, "Why this node, or why none?"],
  ["Displacements", async () => { await tabTo(/^SELECT/); await page.keyboard.press("ArrowDown"); }, "Which pods were displaced, and why?"],
  ["Budgets", async () => {}, "What may be evicted now?"],
  ["Drain", async () => { await tabTo(/^CANVAS/); await page.keyboard.press("ArrowRight"); await page.keyboard.press("ArrowRight"); await page.keyboard.press("Enter"); }, "is chosen"],
  ["Node", async () => { await tabTo(/^INPUT node/); await page.keyboard.type("n1"); await page.keyboard.press("Enter"); await page.waitForSelector("text=Signals, the closest"); await tabTo(/^SUMMARY .*other signal/); await page.keyboard.press("Enter"); }, "li >> text=nodefs.inodesFree"],
  ["Zones", async () => {}, "Which nodes are not ready"],
  ["Descheduler", async () => {}, "Which moves does the descheduler plan?"],
  ["Compare", async () => { await tabTo(/^INPUT pod/); await page.keyboard.type("shop/misfit"); await page.keyboard.press("Enter"); }, "Both choose no node"],
  ["Simulate", async () => { await tabTo(/^BUTTON .*Run$/); await page.keyboard.press("Enter"); await page.waitForSelector("text=pods scheduled"); await tabTo(/^BUTTON .*Back$/); await page.keyboard.press("Enter"); }, "Virtual time"],
  ["Fleet", async () => { await tabTo(/^CANVAS/); await page.keyboard.press("ArrowRight"); }, "requested by"],
];

export const keyboardTests = {
  "the keyboard alone reaches and operates every view": async () => {
    await open("fleet");
    await tabTo(/Skip to the view/);
    await page.keyboard.press("Enter");
    assert.match(await focused(), /^MAIN/);
    for (const [name, act, text] of steps) {
      await tabTo(new RegExp(`^A +${name}$`), "Shift+Tab");
      await page.keyboard.press("Enter");
      await page.waitForFunction((title) => document.title === title + " – Berth", name);
      assert.match(await focused(), /^H1/, name); // a screen reader announces the heading
      await act();
      await page.waitForSelector(text.includes(" >> ") ? "main " + text : `main >> text=${text}`);
      await tabTo(/^BUTTON .*Copy command berth /);
      await page.keyboard.press("Enter");
      await page.waitForSelector("text=/Copied|Select the text to copy it/");
    }
    assert.ok(answer("kubectl", "get", "nodes").items.every((n) => !n.spec.unschedulable), "the walk changes nothing");
    ignoreStatus(/status of (400|50\d)/); // a pod without a controller is not drained; simulated nodes have no disk report
  },
};
