// Which page belongs to which address. Pages with large parts are loaded when they are opened.
import { lazy, Suspense } from "react";
import { Compare } from "./pages/compare";
import { Documents } from "./pages/documents";
import { Inbox } from "./pages/inbox";
import { RunPage } from "./pages/run";
import { Runs } from "./pages/runs";
import { Tools } from "./pages/tools";
import { ToolPage } from "./pages/tool";
import { Routed, useRouter } from "./router";
import { Announced } from "./shell/announce";
import { Shell } from "./shell/shell";

const DocumentPage = lazy(() => import("./pages/document"));
const Playground = lazy(() => import("./pages/playground"));

export function App() {
  return (
    <Routed>
      <Announced>
        <Shell>
          <Suspense fallback={<p className="quiet">Loading…</p>}>
            <Page />
          </Suspense>
        </Shell>
      </Announced>
    </Routed>
  );
}

function Page() {
  const { route } = useRouter();
  switch (route.page) {
    case "tools":
      return <Tools />;
    case "tool":
      return <ToolPage key={route.name} name={route.name} />;
    case "runs":
      return <Runs />;
    case "run":
      return <RunPage key={route.run} run={route.run} step={route.step} />;
    case "compare":
      return <Compare />;
    case "documents":
      return <Documents />;
    case "document":
      return <DocumentPage key={route.id} id={route.id} />;
    case "inbox":
      return <Inbox />;
    case "playground":
      return <Playground />;
    case "lost":
      return (
        <section>
          <h1>There is no page here</h1>
          <p>
            Nothing lies at <code>{route.path}</code>. The list above leads to everything there is.
          </p>
        </section>
      );
  }
}
