// whileVisible calls start when the tab becomes visible and aborts its signal when the tab is hidden: a browser has six
// connections to this server for all of its tabs, and a watch uses one. It returns a function that ends both.
export function whileVisible(start: (signal: AbortSignal) => void): () => void {
  let current: AbortController | undefined;
  const update = () => {
    if (document.visibilityState === "hidden") {
      current?.abort();
      current = undefined;
    } else if (!current) {
      current = new AbortController();
      start(current.signal);
    }
  };
  document.addEventListener("visibilitychange", update);
  update();
  return () => {
    document.removeEventListener("visibilitychange", update);
    current?.abort();
  };
}
