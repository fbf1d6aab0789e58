// Tests of the commands to copy: text of the URL is one word of the command, in any shell.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { ignoreStatus, origin, page } from "./harness.mjs";

// cases are URLs and the arguments of the commands that their views show.
const cases = [
  ["drain?nodes=n1;touch /tmp/pwn", ["drain", "n1;touch /tmp/pwn", "--what-if"]],
  ["drain?nodes=n1,--,--what-if=false", ["drain", "--what-if", "--", "n1", "--", "--what-if=false"]],
  ["drain?nodes=-x&force=true", ["drain", "--what-if", "--force", "--", "-x"]],
  ["pod/shop/$(touch pwn)", ["explain", "pod", "shop/$(touch pwn)", "--nodes"]],
  ["pod/`touch pwn`/a\u0015\u0003touch pwn\r\n", ["explain", "pod", "`touch pwn`/a\u0015\u0003touch pwn\r\n", "--nodes"]],
  ["pod/shop/a'\\\u0007'; touch pwn #", ["explain", "pod", "shop/a'\\\u0007'; touch pwn #", "--nodes"]],
  ["pod/shop/a\u009b201~\u202eb\u{e0041}", ["explain", "pod", "shop/a\u009b201~\u202eb\u{e0041}", "--nodes"]],
  ["fleet?selector=x';touch pwn;'", ["kubectl", "describe", "nodes", "-l", "x';touch pwn;'"]],
  ["fleet?selector=a=b\ntouch pwn", ["kubectl", "describe", "nodes", "-l", "a=b\ntouch pwn"]],
  ["node/$(touch pwn)", ["explain", "node", "$(touch pwn)", "--pressure"]],
  ["node/--kubeconfig=x", ["explain", "node", "--pressure", "--", "--kubeconfig=x"]],
  ["budgets?namespace=a;touch pwn", ["kubectl", "get", "pdb", "-n", "a;touch pwn"]],
  ["displacements?namespace=~&cause=a|touch pwn", ["evictions", "-n", "~", "--cause", "a|touch pwn", "--all"]],
  ["compare?pod=shop/$(touch pwn)&at=2026-01-01T00:00:00Z;touch pwn&with=`touch pwn`",
    ["explain", "pod", "shop/$(touch pwn)", "--nodes", "--at", "2026-01-01T00:00:00Z;touch pwn"], ["explain", "pod", "shop/$(touch pwn)", "--nodes", "--at", "`touch pwn`"]],
  ["descheduler?max=1;touch pwn", ["descheduler", "--dry-run"]],
  ["simulate?scenario=a&seed=1;touch pwn", ["simulate", "--scenario", "scenario.txt", "--timeline", "all"]],
];
const texts = {
  "drain?nodes=n1;touch /tmp/pwn": "berth drain 'n1;touch /tmp/pwn' --what-if",
  "fleet?selector=x';touch pwn;'": "berth kubectl describe nodes -l 'x'\\'';touch pwn;'\\'''",
  "fleet?selector=a=b\ntouch pwn": "berth kubectl describe nodes -l $'a=b\\012touch pwn'",
  "pod/shop/a'\\\u0007'; touch pwn #": "berth explain pod $'shop/a\\047\\134\\007\\047; touch pwn #' --nodes",
  "pod/shop/a\u009b201~\u202eb\u{e0041}": "berth explain pod $'shop/a\\u009b201~\\u202eb\\U000e0041' --nodes",
};
const encode = (url) => url.split("?").map((part, i) => part.split(i ? "&" : "/").map((s) => i ? s.replace(/^([^=]*)=([^]*)$/, (_, k, v) => k + "=" + encodeURIComponent(v)) : encodeURIComponent(s)).join(i ? "&" : "/")).join("?");
// words returns the arguments that a shell passes to berth.
const words = (shell, text) => execFileSync(shell, ["-c", `berth() { printf '%s\\0' "$@"; }; touch() { printf 'TOUCHED'; }\n${text}`], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { LC_ALL: "C.UTF-8", PATH: process.env.PATH } }).split("\0").slice(0, -1);

export const commandTests = {
  "commands quote the text of the URL": async () => {
    for (const [url, ...want] of cases) {
      await page.goto(origin + "/ui/" + encode(url));
      await page.waitForSelector("main .command code");
      const shown = await page.locator("main .command code").allInnerTexts();
      assert.deepEqual(shown.map((text) => words("bash", text)), want, url);
      if (texts[url]) assert.equal(shown[0], texts[url], url);
      for (const text of shown) {
        assert.doesNotMatch(text, /\p{C}/u, url);
        assert.ok(words("sh", text).length === words("bash", text).length, `sh splits ${text}`);
      }
    }
    ignoreStatus(/status of (400|403|404|50\d)/); // answers to the invalid names above
  },
  "commands of a policy file and of a dump quote its name": async () => {
    await page.route(/\/ui\/api\/user$/, async (r) => { const response = await r.fetch(); await r.fulfill({ response, json: { ...await response.json(), policyFile: "p;touch pwn" } }); });
    try {
      await page.goto(origin + "/ui/descheduler");
      assert.equal(await page.locator("main .command code").innerText(), "berth descheduler --dry-run --policy-config-file 'p;touch pwn'");
    } finally {
      await page.unroute(/\/ui\/api\/user$/);
    }
    await page.goto(origin + "/ui/simulate");
    await page.getByLabel("Start with").selectOption("file");
    await page.locator("input[name=file]").setInputFiles({ name: "a'$(touch pwn).yaml", mimeType: "text/yaml", buffer: Buffer.from("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 4, pods: 10}}\n") });
    await page.getByLabel("One action per line").fill("until 1m");
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForSelector(".answer:has-text('At the end')");
    assert.deepEqual(words("bash", await page.locator("main .command code").innerText()), ["simulate", "-f", "a'$(touch pwn).yaml", "--scenario", "scenario.txt", "--timeline", "all"]);
  },
};
