// Maps routes to pages. Pages with large dependencies are loaded on demand.
import { lazy, Suspense } from "react";
import { ComparePage } from "./pages/compare";
import { DocumentsPage } from "./pages/documents";
import { InboxPage } from "./pages/inbox";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { ToolsPage } from "./pages/tools";
import { ToolPage } from "./pages/tool";
import { RouterProvider, useRouter } from "./router";
import { Announcer } from "./shell/announce";
import { Shell } from "./shell/shell";

const DocumentPage = lazy(() => import("./pages/document"));
const Playground = lazy(() => import("./pages/playground"));

export function App() {
  return (
    <RouterProvider>
      <Announcer>
        <Shell>
          <Suspense fallback={<p className="quiet">Loading…</p>}>
            <Page />
          </Suspense>
        </Shell>
      </Announcer>
    </RouterProvider>
  );
}

function Page() {
  const { route } = useRouter();
  switch (route.page) {
    case "tools":
      return <ToolsPage />;
    case "tool":
      return <ToolPage key={route.name} name={route.name} />;
    case "runs":
      return <RunsPage />;
    case "run":
      return <RunPage key={route.run} run={route.run} step={route.step} />;
    case "compare":
      return <ComparePage />;
    case "documents":
      return <DocumentsPage />;
    case "document":
      return <DocumentPage key={route.id} id={route.id} />;
    case "inbox":
      return <InboxPage />;
    case "playground":
      return <Playground />;
    case "lost":
      return (
        <section>
          <h1>Page not found</h1>
          <p>
            There is no page at <code>{route.path}</code>. Use the navigation above.
          </p>
        </section>
      );
  }
}
