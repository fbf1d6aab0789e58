import { CommandLine } from "./shell";
import { keptDump, Request } from "./simulation";

// example is the scenario of a first visit.
export const example = `# Six pods of high priority arrive at a full cluster; a budget protects four others.
node n1..n4 cpu=4
pod web1..web8 cpu=1 labels=app=web owner=web replace priority=1
pod batch1..batch8 cpu=1 priority=0 grace=5s
budget web match=app=web minAvailable=7
at 10s pod urgent1..urgent6 cpu=1 priority=100
at 1m drain n2
until 3m
expect pod urgent1 bound
`;

// requestOf returns the simulation of a URL, or null if it has none or needs a file that this tab does not have.
export function requestOf(options: URLSearchParams, scenario = "scenario", seed = "seed"): Request | null {
  const text = options.get(scenario), dump = options.get("dump") ?? "", cluster = options.get("from") === "cluster", value = options.get(seed) ?? "";
  if (text === null && !cluster && !dump || dump && !keptDump(dump)) return null;
  return { scenario: text ?? "", seed: /^\d{1,15}$/.test(value) ? value : "", cluster, dump: dump ? keptDump(dump)!.text : "" };
}

// commandOf returns the equivalent command.
export function commandOf(options: URLSearchParams, seed = "seed", file = "scenario.txt"): CommandLine {
  const dump = options.get("dump") ?? "", value = options.get(seed) ?? "";
  return { words: ["berth", "simulate"], options: [...(dump ? ["-f", keptDump(dump)?.name ?? "dump.yaml"] : options.get("from") === "cluster" ? ["-f", "dump.yaml"] : []),
    "--scenario", file, "--timeline", "all", ...(/^\d{1,15}$/.test(value) ? ["--seed", value] : [])] };
}
