import { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { BudgetsView } from "./budgets";
import { exchangeCode, Failure, getJSON, hasToken, setToken } from "./client";
import { CompareView } from "./compare";
import { DeschedulerView } from "./descheduler";
import { DisplacementsView } from "./displacements";
import { DrainView } from "./drain";
import { FleetView } from "./fleet";
import { NodeView } from "./node";
import { Errors, Field, Link } from "./parts";
import { PodView } from "./pod";
import { QueueView } from "./queue";
import { SimulateView } from "./simulate";
import { TimeSlider } from "./time";
import { Route, useRoute, viewURL } from "./route";
import { ZonesView } from "./zones";

export interface ViewProps { route: Route; namespace: string; policyFile: string }

const views: Record<string, { title: string; view: ComponentType<ViewProps> }> = {
  fleet: { title: "Fleet", view: FleetView },
  pod: { title: "Pod", view: PodView },
  queue: { title: "Queue", view: QueueView },
  displacements: { title: "Displacements", view: DisplacementsView },
  budgets: { title: "Budgets", view: BudgetsView },
  drain: { title: "Drain", view: DrainView },
  node: { title: "Node", view: NodeView },
  zones: { title: "Zones", view: ZonesView },
  descheduler: { title: "Descheduler", view: DeschedulerView },
  compare: { title: "Compare", view: CompareView },
  simulate: { title: "Simulate", view: SimulateView },
};

interface User { name: string; groups?: string[]; policyFile: string }

// signIn exchanges the code of a one-time link and returns the user, or null if there are no valid credentials.
async function signIn(): Promise<User | null> {
  const code = location.hash.slice(1);
  let refused: Failure | undefined; // not an error in the browser that has used the link: it has the session cookie
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await exchangeCode(code);
    } catch (e) {
      if (e instanceof Failure && e.code === 403) refused = e; else throw e;
    }
  }
  try {
    return await getJSON<User>("/ui/api/user");
  } catch (e) {
    if (!(e instanceof Failure && e.code === 401)) throw e;
    if (refused) throw refused;
    return null;
  }
}

export function Page() {
  const [user, setUser] = useState<User | null>(null);
  const [state, setState] = useState<"starting" | "signed out" | "signed in">("starting");
  const [error, setError] = useState("");
  const [method, setMethod] = useState("token");
  const start = async () => {
    setError("");
    try {
      setMethod((await getJSON<{ method: string }>("/ui/api/sign-in")).method);
      const found = await signIn();
      if (!found && hasToken()) {
        setToken("");
        setError("The API server does not accept this token.");
      }
      setUser(found);
      setState(found ? "signed in" : "signed out");
    } catch (e) {
      setError(e instanceof Error ? e.message : String(e));
      setState("signed out");
    }
  };
  useEffect(() => { void start(); }, []);
  if (state === "starting") return <main><p role="status">Loading…</p></main>;
  if (state === "signed out") return <SignIn method={method} error={error} start={start} />;
  return <Shell user={user!} signOut={hasToken() ? () => { setToken(""); location.reload(); } : undefined} />;
}

function SignIn({ method, error, start }: { method: string; error: string; start: () => Promise<void> }) {
  const submit = async (e: Event) => {
    e.preventDefault();
    const input = (e.currentTarget as HTMLFormElement).elements.namedItem("token") as HTMLInputElement;
    setToken(input.value.trim());
    await start();
  };
  return <main class="narrow">
    <h1>Berth</h1>
    <Errors list={[error]} />
    {method === "link" ? <p>Open the link that <code>berth ui</code> printed. It signs in once; to get another, run <code>berth ui</code> again.</p>
      : <form onSubmit={submit}>
        <label>Bearer token <input name="token" type="password" autocomplete="off" required autofocus /></label>
        <button type="submit">Sign in</button>
        <p class="muted">The token stays in this tab. A service account's token: <code>berth kubectl create token NAME</code>. With a kubeconfig, run <code>berth ui</code> instead.</p>
      </form>}
  </main>;
}

// hasTime reports whether the slider is shown: simulations have their own time.
function hasTime(route: Route): boolean { return route.view !== "simulate" && !(route.view === "compare" && !route.options.has("pod")); }

// focusView moves the focus to the heading of the view, which screen readers then announce.
function focusView() {
  const heading = document.querySelector<HTMLElement>("#view h1") ?? document.getElementById("view")!;
  heading.tabIndex = -1;
  heading.focus();
  scrollTo(0, 0);
}

function Shell({ user, signOut }: { user: User; signOut?: () => void }) {
  const route = useRoute();
  const known = views[route.view];
  const namespace = route.options.get("namespace") ?? "";
  useEffect(() => { document.title = (known?.title ?? "Not found") + " – Berth"; }, [route.view]);
  const path = [route.view, ...route.parts].join("/"), shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    focusView();
  }, [path]);
  const View = known?.view;
  return <>
    <a class="skip" href="#view" onClick={(e) => { e.preventDefault(); document.getElementById("view")!.focus(); }}>Skip to the view</a>
    <header>
      <strong class="brand">Berth</strong>
      <nav aria-label="Views"><ul>{Object.entries(views).map(([name, v]) => <li key={name}><Link to={viewURL(name)} current={name === route.view}>{v.title}</Link></li>)}</ul></nav>
      <div class="who"><Field name="namespace" label="Namespace" value={namespace} hint="all" />
        <span class="muted user" title={(user.groups ?? []).join(", ")}>{user.name}</span>
        {signOut && <button type="button" onClick={signOut}>Sign out</button>}</div>
    </header>
    {hasTime(route) && <TimeSlider route={route} namespace={namespace} />}
    <main id="view" tabIndex={-1}>
      {View ? <View route={route} namespace={namespace} policyFile={user.policyFile} /> : <p role="alert">Unknown view: {route.view}.</p>}
    </main>
  </>;
}
