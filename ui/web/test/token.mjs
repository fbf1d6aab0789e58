// Tests of the page that berth up serves over TLS, with sign-in by a bearer token and by a client certificate.
import assert from "node:assert/strict";
import { answer, apply, browser, eventually, run, tlsPage } from "./harness.mjs";

const rules = [{ apiGroups: [""], resources: ["pods", "events"], verbs: ["list", "watch"] }, { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["list", "watch"] }];

export const tokenTests = {
  "token: a wrong one is refused, and that of a namespace sees its namespace": async () => {
    apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reader", namespace: "shop" } }, { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "reader", namespace: "shop" }, rules },
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: { name: "reader", namespace: "shop" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" }, subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "shop" }] },
      { apiVersion: "v1", kind: "Pod", metadata: { name: "elsewhere", namespace: "default" }, spec: { nodeSelector: { none: "none" }, containers: [{ name: "c", image: "x" }] } }]);
    const token = run("kubectl", "create", "token", "reader", "-n", "shop").trim();
    const context = await browser.newContext({ ignoreHTTPSErrors: true }), page = await context.newPage();
    const main = () => page.locator("main").innerText();
    const signIn = async (text) => { await page.getByLabel("Bearer token").fill(text); await page.getByRole("button", { name: "Sign in" }).click(); };
    try {
      await page.goto(tlsPage + "queue");
      await page.waitForSelector("text=Bearer token");
      const plain = await context.request.get(tlsPage + "api/queue?namespace=shop");
      assert.equal(plain.status(), 401);
      await signIn(token.slice(0, -8) + "AAAAAAAA");
      await eventually(main, /The API server does not accept this token/);
      assert.equal(await page.evaluate(() => sessionStorage.length), 0);
      await signIn(token);
      await eventually(main, /pods is forbidden|cannot list/); // all namespaces
      assert.equal(await page.locator("ol > li").count(), 0);
      await page.getByLabel("Namespace").fill("shop");
      await page.keyboard.press("Enter");
      const want = answer("queue", "-n", "shop").pods;
      await eventually(main, new RegExp(`^[^]*${want.length} pods? waits? for a node`));
      assert.deepEqual((await page.locator("ol > li .row > a").allInnerTexts()).sort(), want.map((p) => p.pod).sort());
      await page.getByRole("link", { name: "Fleet", exact: true }).click();
      const bound = answer("kubectl", "get", "pods", "-n", "shop").items.filter((p) => p.spec.nodeName).length;
      await eventually(async () => String((await page.locator(".legend li:has(svg)").allInnerTexts()).reduce((n, t) => n + Number(/(\d+) pods?$/.exec(t)[1]), 0) === bound), /true/);
      await page.getByRole("link", { name: "Queue", exact: true }).click();
      await page.getByLabel("Namespace").fill("default");
      await page.keyboard.press("Enter");
      await eventually(main, /pods is forbidden|cannot list/);
      assert.doesNotMatch(await main(), /elsewhere/);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForSelector("text=Bearer token");
      assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    } finally {
      await context.close();
      run("kubectl", "delete", "pod", "elsewhere", "-n", "default", "--wait=false");
    }
  },
  "a client certificate signs in": async () => {
    const { user } = answer("kubectl", "config", "view", "--raw").users[0];
    const cert = Buffer.from(user["client-certificate-data"], "base64"), key = Buffer.from(user["client-key-data"], "base64");
    const context = await browser.newContext({ ignoreHTTPSErrors: true, clientCertificates: [{ origin: new URL(tlsPage).origin, cert, key }] });
    try {
      const page = await context.newPage();
      await page.goto(tlsPage + "queue?namespace=shop");
      const want = answer("queue", "-n", "shop").pods.length;
      await eventually(() => page.locator("main").innerText(), new RegExp(`^[^]*${want} pods? waits? for a node`));
      assert.equal((await (await context.request.get(tlsPage + "api/user")).json()).name, answer("kubectl", "auth", "whoami").status.userInfo.username);
    } finally {
      await context.close();
    }
  },
};
