import { useEffect, useRef, useState } from "preact/hooks";
import { timeOf } from "./history";
import { useKeyedState } from "./keyed-state";
import { formatAge } from "./quantity";
import { Route, setOption, viewsWithoutTime } from "./route";
import { useLive } from "./store";

const second = 1000;
const delay = 200; // after the last movement of the slider, in milliseconds

// useClock returns the server's time in milliseconds, which advances every ten seconds; 0 without a time.
function useClock(time = ""): number {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const start = Date.now(), timer = window.setInterval(() => setPassed(Date.now() - start), 10 * second);
    setPassed(0);
    return () => window.clearInterval(timer);
  }, [time]);
  return time ? Date.parse(time) + passed : 0;
}

// TimeSlider selects the time that the views show. Its right end is the present. Without a recording, it says so.
export function TimeSlider({ route, namespace }: { route: Route; namespace: string }) {
  const { value, error } = useLive<{ from?: string; to?: string }>("/ui/api/history/range", { namespace }, 0);
  const now = useClock(value?.to);
  const at = timeOf(route), range = value?.from && now ? { from: value.from, to: now } : null;
  const [moved, setMoved] = useKeyedState<number | null>(at, null); // while the slider moves
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  if (!range && !at) return <p class="slider muted">Time: {error || (value ? "no recording, so the views show the present" : "…")}</p>;
  const first = range ? Math.ceil(Date.parse(range.from) / second) : Math.floor(Date.parse(at) / second), last = range ? Math.floor(range.to / second) : first;
  const shown = moved ?? (at ? Math.min(last, Math.max(first, Math.floor(Date.parse(at) / second))) : last);
  const show = (time: number) => {
    setMoved(null);
    setOption("at", time >= last ? "" : new Date(time * second).toISOString().replace(".000Z", "Z"));
  };
  const move = (e: Event) => {
    const time = Number((e.currentTarget as HTMLInputElement).value);
    setMoved(time);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => show(time), delay);
  };
  const live = shown >= last;
  const text = live ? "live" : `${new Date(shown * second).toLocaleString("en-GB")}, ${formatAge(shown * second, Date.now())} ago`;
  return <form class="options slider" aria-label="Time" onSubmit={(e) => e.preventDefault()}>
    <label for="time">Time</label>
    <input id="time" type="range" min={first} max={last} step="1" value={shown} aria-valuetext={text} onInput={move} />
    <output for="time">{text}</output>
    {!(live && !at) && <button type="button" onClick={() => show(last)}>Show live</button>}
    {!live && viewsWithoutTime.includes(route.view) && <span role="status" class="muted">This view has a separate, virtual time.</span>}
  </form>;
}
