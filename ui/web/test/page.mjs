// Tests of the frame of the page, and of marks that need no color.
import assert from "node:assert/strict";
import { answer, eventually, open, page, rows, summary } from "./harness.mjs";

const live = page.getByRole("button", { name: "Show live" });

export const pageTests = {
  "page: without a recording, the slider's place says so": async () => {
    await page.route(/api\/history\/range/, (r) => r.fulfill({ contentType: "application/json", body: "{}" }));
    try {
      await open("queue");
      await page.waitForSelector("text=Time: no recording, so the views show the present");
      assert.equal(await page.getByRole("slider", { name: "Time" }).count(), 0);
    } finally {
      await page.unroute(/api\/history\/range/);
    }
  },
  "page: an earlier time has a way back and a command": async () => {
    await open("pod/shop/misfit");
    await page.getByRole("slider", { name: "Time" }).waitFor();
    assert.equal(await live.count(), 0);
    await page.waitForTimeout(1500);
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 1000).toISOString().replace(".000Z", "Z");
    await open("pod/shop/misfit?at=" + at);
    await eventually(summary, /has no node/);
    const command = await page.locator(".command code").innerText();
    assert.equal(command, `berth explain pod shop/misfit --nodes --at ${at}`);
    const want = answer(...command.split(" ").slice(1));
    assert.deepEqual((await rows("Plugins by nodes")).map((r) => [r[0], r.at(-1)]).sort(), want.nodes.map((n) => [n.name, `${n.plugin}: ${n.numbers.map((v) => v.message).join("; ")}`]).sort());
    await live.click();
    await eventually(() => page.url(), /misfit$/);
    await live.waitFor({ state: "detached" });
  },
  "drain: pods that do not move are crossed out on the map": async () => {
    const white = () => page.locator("canvas").evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let n = 0;
      for (let i = 0; i < data.length; i += 4) if (Math.min(data[i], data[i + 1], data[i + 2], data[i + 3]) >= 245) n++; // the edges of the lines; free capacity is darker
      return n;
    });
    await open("drain");
    await page.waitForSelector("canvas");
    assert.equal(await white(), 0);
    const web = answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=web").items.map((p) => p.spec.nodeName).find((n) => n !== "n1"); // n1 has pods that nothing replaces
    await open("drain?nodes=" + web);
    await page.waitForSelector(".legend li:has(.cross):has-text('does not move')");
    await eventually(async () => String(await white() > 20), /true/);
  },
};
