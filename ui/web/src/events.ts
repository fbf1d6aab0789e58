import { Failure, request } from "./client";

export interface ServerEvent { name: string; data: string }

// readEvents requests a stream of server-sent events and calls receive for each until the stream ends. fetch is used instead of
// EventSource, which cannot send a bearer token.
export async function readEvents(path: string, init: RequestInit, receive: (e: ServerEvent) => void, alive: () => void = () => {}) {
  const response = await request(path, { ...init, headers: { Accept: "text/event-stream", ...init.headers } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const parts: string[] = []; // of an incomplete event
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    if (!value.includes("\n\n") && !(value.startsWith("\n") && parts.length)) { parts.push(value); continue; }
    const texts = (parts.splice(0).join("") + value).split("\n\n");
    parts.push(texts.pop()!);
    for (const text of texts) {
      const event = { name: "", data: "" };
      for (const line of text.split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        else if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      if (event.name) receive(event);
    }
  }
}

const firstWait = 1000, maxWait = 30000, silence = 45000; // in milliseconds; the server sends a heartbeat every 15 s

// followEvents reads a stream and opens it again when it ends or fails, with an increasing distance, until signal is aborted or the
// user must sign in again.
export async function followEvents(path: string, receive: (e: ServerEvent) => void, report: (f: Failure) => void, signal: AbortSignal) {
  for (let wait = firstWait; !signal.aborted; wait = Math.min(wait * 2, maxWait)) {
    const attempt = new AbortController(), stop = () => attempt.abort();
    signal.addEventListener("abort", stop);
    let timer = window.setTimeout(stop, silence);
    try {
      await readEvents(path, { signal: attempt.signal }, (e) => { wait = firstWait; receive(e); }, () => { window.clearTimeout(timer); timer = window.setTimeout(stop, silence); });
    } catch (e) {
      if (signal.aborted) return;
      const failure = attempt.signal.aborted ? new Failure(0, "the server of this page does not answer") : e instanceof Failure ? e : new Failure(0, "the server of this page does not answer");
      report(failure);
      if (failure.code === 401) return;
    } finally {
      window.clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
    await new Promise((r) => setTimeout(r, wait * (0.75 + Math.random() / 2)));
  }
}
