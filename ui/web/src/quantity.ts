import { currentRoute, viewsWithoutTime } from "./route";

const suffixes: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

// parseQuantity returns the value of a Kubernetes quantity: cores, bytes or a count.
export function parseQuantity(text: string | number | undefined): number {
  const m = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]?i?)$/.exec(String(text ?? "0"));
  return m ? Number(m[1]) * (suffixes[m[2]!] ?? 1) : 0;
}

// isBytes reports whether a resource is counted in bytes.
export function isBytes(resource: string): boolean {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}

export function formatAmount(resource: string, value: number): string {
  if (!isBytes(resource)) return (Math.round(value * 1000) / 1000).toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 1 });
  for (const [unit, size] of [["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]] as const) {
    if (Math.abs(value) >= size) return (value / size).toFixed(value / size < 10 ? 1 : 0).replace(/\.0$/, "") + " " + unit;
  }
  return Math.round(value) + " B";
}

// shownTime returns the time that the view shows: that of the slider if it shows earlier times, else the present.
export function shownTime(): number {
  const { view, options } = currentRoute();
  return (!viewsWithoutTime.includes(view) && Date.parse(options.get("at") ?? "")) || Date.now();
}

export function formatAge(since: string | number | undefined, now = shownTime()): string {
  const at = typeof since === "number" ? since : Date.parse(since ?? "");
  if (!at) return "–";
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d";
}

export function plural(n: number, one: string, many = one + "s"): string {
  return n.toLocaleString("en") + " " + (n === 1 ? one : many);
}
