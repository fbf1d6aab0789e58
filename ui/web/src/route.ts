import { useEffect, useState } from "preact/hooks";

// Route is the view and its options in the URL: /ui/VIEW/PARTS?OPTIONS.
export interface Route { view: string; parts: string[]; options: URLSearchParams }

// decode decodes a part of the path. It returns an invalid part unchanged.
function decode(part: string): string {
  try { return decodeURIComponent(part); } catch { return part; }
}

// viewsWithoutTime are the views whose time the slider does not select.
export const viewsWithoutTime = ["simulate"];

export function currentRoute(): Route {
  const [, , view = "", ...parts] = location.pathname.split("/");
  return { view: view || "fleet", parts: parts.filter(Boolean).map(decode), options: new URLSearchParams(location.search) };
}

export function navigate(url: string, replace = false) {
  if (replace) history.replaceState(null, "", url); else history.pushState(null, "", url);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const update = () => setRoute(currentRoute());
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, []);
  return route;
}

// setOption changes one option of the current view in the URL.
export function setOption(name: string, value: string, none = "") {
  const options = new URLSearchParams(location.search);
  if (value === none) options.delete(name); else options.set(name, value);
  const text = options.toString();
  navigate(location.pathname + (text ? "?" + text : ""), true);
}

// viewURL returns the URL of a view with the namespace and the time of the current view.
export function viewURL(view: string, ...parts: string[]): string {
  const current = new URLSearchParams(location.search), kept = new URLSearchParams();
  for (const name of ["namespace", "at"]) if (current.get(name)) kept.set(name, current.get(name)!);
  return ["/ui", view, ...parts.map(encodeURIComponent)].join("/") + (kept.size ? "?" + kept.toString() : "");
}

// withOption adds an option to a URL of a view.
export function withOption(url: string, name: string, value: string): string {
  return url + (url.includes("?") ? "&" : "?") + name + "=" + encodeURIComponent(value);
}

// followLink changes the view without loading the page.
export function followLink(e: MouseEvent) {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  navigate((e.currentTarget as HTMLAnchorElement).getAttribute("href")!);
}
