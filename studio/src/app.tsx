// Maps routes to pages. Pages with large dependencies are loaded on demand.
import { lazy, Suspense } from "react";
import { ComparePage } from "./pages/compare";
import { DocumentsPage } from "./pages/documents";
import { HomePage } from "./pages/home";
import { InboxPage } from "./pages/inbox";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { ToolsPage } from "./pages/tools";
import { ToolPage } from "./pages/tool";
import { VersionsPage } from "./pages/versions";
import { RouterProvider, useRouter } from "./router";
import { Announcer } from "./shell/announce";
import { Shell } from "./shell/shell";
import { Skeleton } from "./ui/empty";
import { Toasts } from "./ui/toast";

const DocumentPage = lazy(() => import("./pages/document"));
const Playground = lazy(() => import("./pages/playground"));

export function App() {
  return (
    <RouterProvider>
      <Announcer>
        <Toasts>
        <Shell>
          <Suspense fallback={<div className="page"><Skeleton rows={6} /></div>}>
            <Page />
          </Suspense>
        </Shell>
        </Toasts>
      </Announcer>
    </RouterProvider>
  );
}

function Page() {
  const { route } = useRouter();
  switch (route.page) {
    case "home":
      return <HomePage />;
    case "tools":
      return <ToolsPage />;
    case "tool":
      return <ToolPage key={route.name} name={route.name} />;
    case "versions":
      return <VersionsPage key={route.name} name={route.name} />;
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
        <section className="page">
          <h1>Page not found</h1>
          <p>
            There is no page at <code>{route.path}</code>. Use the navigation, or press Ctrl+K to search.
          </p>
        </section>
      );
  }
}
