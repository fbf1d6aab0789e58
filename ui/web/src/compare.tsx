import type { ViewProps } from "./page";
import { CompareDecisions } from "./compare-decisions";
import { CompareSimulations } from "./compare-simulations";
import { Link } from "./parts";
import { navigate, viewURL } from "./route";

export function CompareView({ route }: ViewProps) {
  const { options } = route, pod = options.get("pod") ?? "", simulated = options.has("scenario") || options.has("dump") || options.get("from") === "cluster";
  const open = (e: Event) => {
    e.preventDefault();
    const text = ((e.currentTarget as HTMLFormElement).elements.namedItem("pod") as HTMLInputElement).value.trim();
    const url = viewURL("compare");
    if (text) navigate(url + (url.includes("?") ? "&" : "?") + "pod=" + encodeURIComponent(text.includes("/") ? text : "default/" + text));
  };
  return <>
    <h1>What differs?</h1>
    {!simulated && <form class="options" onSubmit={open}>
      <label>Decisions about the pod <input key={pod} name="pod" defaultValue={pod} placeholder="namespace/name" size={40} spellcheck={false} autocomplete="off" /></label>
      <button type="submit">Compare</button>
    </form>}
    {simulated ? <CompareSimulations options={options} />
      : pod ? <CompareDecisions pod={pod} at={options.get("at") ?? ""} other={options.get("with") ?? ""} />
        : <p class="answer">Enter a pod to compare two decisions about it, or compare two seeds of a scenario in <Link to="/ui/simulate">Simulate</Link>.</p>}
  </>;
}
