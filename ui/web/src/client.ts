// Requests to the server of this page. A bearer token is kept in sessionStorage and sent as a header;
// with a one-time link, the browser sends the session cookie.
const key = "berth-token";

export class Failure extends Error {
  constructor(readonly code: number, message: string, readonly line = 0) { super(message); }
}

export function setToken(token: string) {
  if (token) sessionStorage.setItem(key, token); else sessionStorage.removeItem(key);
}

export function hasToken(): boolean { return sessionStorage.getItem(key) !== null; }

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(key);
  if (token) headers.set("Authorization", "Bearer " + token);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, cache: "no-store", redirect: "error" });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Failure(0, "the server of this page does not answer");
  }
  if (response.ok) return response;
  let message = response.statusText;
  try { message = String((await response.json()).message ?? message); } catch { /* the body is not JSON: keep the status text */ }
  throw new Failure(response.status, message);
}

export async function getJSON<T>(path: string, query: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
  const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "")).toString();
  return (await request(path + (text ? "?" + text : ""), { signal })).json();
}

export async function exchangeCode(code: string): Promise<void> {
  await request("/ui/session", { method: "POST", body: JSON.stringify({ code }), headers: { "Content-Type": "application/json" } });
}

interface Meta { name: string; namespace?: string; uid: string; resourceVersion?: string }
interface List<T> { metadata: { resourceVersion: string; continue?: string }; items: T[] }
interface Event<T> { type: string; object: T & { code?: number; message?: string } }

export interface Source<T> {
  path: string;
  put(objects: T[]): void;
  remove(object: T): void;
  clear(): void;
}

const pageSize = "500";

// follow lists objects in pages and then watches them until signal is aborted. It calls report with "" after a list and
// with a message after a failure, and retries unless the user may not read the objects.
export async function follow<T extends { metadata: Meta }>(source: Source<T>, report: (error: string) => void, signal: AbortSignal) {
  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 30000)) {
    try {
      let version = "", next = "";
      source.clear();
      do {
        const list: List<T> = await getJSON(source.path, { limit: pageSize, continue: next }, signal);
        source.put(list.items ?? []);
        version = list.metadata.resourceVersion;
        next = list.metadata.continue ?? "";
      } while (next);
      report("");
      for (;;) {
        version = await watch(source, version, signal);
        wait = 1000;
        await new Promise((r) => setTimeout(r, 200)); // prevents a busy loop if the server ends watches at once
      }
    } catch (e) {
      if (signal.aborted) return;
      const failure = e instanceof Failure ? e : new Failure(0, String(e));
      if (failure.code !== 410) report(failure.message);
      if (failure.code === 401 || failure.code === 403) return;
    }
    await new Promise((r) => setTimeout(r, wait));
  }
}

// watch reads one watch to its end and returns the resource version to continue from.
async function watch<T extends { metadata: Meta }>(source: Source<T>, version: string, signal: AbortSignal): Promise<string> {
  const query = new URLSearchParams({ watch: "1", allowWatchBookmarks: "true", timeoutSeconds: "600", resourceVersion: version });
  const response = await request(source.path + "?" + query, { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let incomplete = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return version;
    const lines = (incomplete + value).split("\n");
    incomplete = lines.pop()!;
    const changed: T[] = [];
    for (const line of lines) {
      if (!line) continue;
      const event: Event<T> = JSON.parse(line);
      if (event.type === "ERROR") throw new Failure(event.object.code ?? 500, event.object.message ?? "watching failed");
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type === "DELETED") {
        source.put(changed.splice(0));
        source.remove(event.object);
      } else if (event.type !== "BOOKMARK") changed.push(event.object);
    }
    if (changed.length) source.put(changed);
  }
}
