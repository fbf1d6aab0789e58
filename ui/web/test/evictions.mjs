// Tests of an eviction through a disruption budget in Displacements and Budgets.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { answer, apply, berth, eventually, kubeconfig, open, page, run } from "./harness.mjs";

const labels = { app: "guarded" };
const evict = (name) => execFileSync(berth, ["kubectl", "create", "--kubeconfig", kubeconfig, "--raw", `/api/v1/namespaces/shop/pods/${name}/eviction`, "-f", "-"],
  { encoding: "utf8", input: JSON.stringify({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: "shop" } }) });
const budget = () => answer("kubectl", "get", "pdb", "guarded", "-n", "shop").status;

export const evictionTests = {
  "displacements: cause, budget and replacement of an eviction, and the timeline": async () => {
    apply([{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "guarded", namespace: "shop" }, spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "x" }] } } } },
      { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "guarded", namespace: "shop" }, spec: { maxUnavailable: 1, selector: { matchLabels: labels } } }]);
    await eventually(() => String(budget()?.disruptionsAllowed === 1 && budget().currentHealthy === 3), /true/);
    const name = answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=guarded").items[0].metadata.name;
    evict(name);
    let want, all;
    await eventually(() => {
      all = answer("evictions", "-n", "shop", "--all").displacements;
      want = all.find((d) => d.pod.name === name);
      return String(Boolean(want?.replacement?.ready));
    }, /true/);
    await open("displacements?namespace=shop");
    const entry = page.locator("ol > li", { has: page.locator(`a:text-is("shop/${name}")`) });
    await eventually(() => entry.innerText(), /ready after/);
    const text = await entry.innerText(), b = want.budgets.find((b) => b.name === "guarded");
    assert.deepEqual([b.before, b.after], [1, 0]);
    assert.equal(await entry.locator(".badge").innerText(), want.cause);
    for (const part of [`Budget guarded: ${b.before} allowed before, ${b.after} after`, `Replaced by ${want.replacement.name} on ${want.replacement.node}`, `from ${want.node}`]) assert.ok(text.includes(part), `${part} in ${text}`);
    const marks = () => page.locator(".timeline [role=listitem]").evaluateAll((list) => list.map((g) => ({ text: g.getAttribute("aria-label"), color: g.querySelector("rect").getAttribute("fill"), x: g.querySelector("rect").x.baseVal.value })));
    await eventually(async () => String((await marks()).length === all.length), /true/);
    const shown = await marks(), clock = (d) => new Date(d.time).toTimeString().slice(0, 8);
    assert.deepEqual(shown.map((m) => m.text).sort(), all.map((d) => `${clock(d)} ${d.pod.namespace}/${d.pod.name}: ${d.cause}`).sort());
    const causes = (m) => m.text.split(": ").at(-1);
    assert.equal(new Set(shown.map((m) => m.color + causes(m))).size, new Set(all.map((d) => d.cause)).size, "a color for each cause");
    assert.ok(new Set(all.map((d) => d.cause)).size >= 2 && new Set(shown.map((m) => m.color)).size >= 2, "two causes");
    const time = new Map(all.map((d) => [`${clock(d)} ${d.pod.namespace}/${d.pod.name}: ${d.cause}`, Date.parse(d.time)])), sorted = [...shown].sort((a, b) => time.get(a.text) - time.get(b.text));
    for (let i = 1; i < sorted.length; i++) assert.ok(sorted[i].x >= sorted[i - 1].x, `${sorted[i].text} is right of ${sorted[i - 1].text}`);
    assert.ok(sorted.at(-1).x > sorted[0].x, "marks at different places");
    assert.ok(await page.locator(".timeline .time").count() >= 2, "the axis has times");
  },
  "budgets: healthy and desired pods and debits are those of the API": async () => {
    const name = answer("kubectl", "get", "pods", "-n", "shop", "-l", "app=guarded").items[0].metadata.name;
    await eventually(() => String(budget().currentHealthy === 3), /true/);
    run("kubectl", "patch", "pdb", "guarded", "-n", "shop", "--subresource=status", "--type=merge", "-p", JSON.stringify({ status: { disruptedPods: { [name]: new Date().toISOString().replace(/\.\d+/, "") } } }));
    try {
      await open("budgets?namespace=shop");
      const entry = page.locator("ul > li", { has: page.locator("strong:text-is('shop/guarded')") });
      await eventually(() => entry.innerText(), new RegExp(name));
      for (const b of answer("kubectl", "get", "pdb", "-n", "shop").items) {
        const s = b.status, text = await page.locator("ul > li", { has: page.locator(`strong:text-is('shop/${b.metadata.name}')`) }).innerText();
        assert.ok(text.includes(`${s.currentHealthy} of ${s.expectedPods} healthy`), text);
        if (s.expectedPods > 0 && s.desiredHealthy < s.expectedPods) assert.match(text, new RegExp(`${s.currentHealthy} are healthy, ${s.desiredHealthy} must be`), text);
        assert.match(text, Object.keys(s.disruptedPods ?? {}).length ? /Debits:\s+\S+ \d+ s ago/ : /Debits: none/);
      }
    } finally {
      run("kubectl", "delete", "deployment,pdb", "guarded", "-n", "shop");
    }
  },
};
