// All workflows that can be run.
import { api } from "../api/client";
import { Link, to } from "../router";
import { LoadView, useLoad } from "../shell/load";

export function ToolsPage() {
  const tools = useLoad(() => api.tools(), []);
  return (
    <section className="page">
      <h1>Workflows</h1>
      <LoadView from={tools}>
        {({ tools }) =>
          tools.length === 0 ? (
            <p>
              There are no workflows yet. <code>tramline studio FILE…</code> opens documents; saved workflows appear here too.
            </p>
          ) : (
            <ul className="cards">
              {tools.map((tool) => (
                <li key={tool.name}>
                  <h2>
                    <Link href={to("tools", tool.name)}>{tool.title ?? tool.name}</Link>
                  </h2>
                  <p>{tool.description}</p>
                  <p className="quiet">
                    {tool.source === "document" ? "from a document" : "saved in the library"}
                    {tool.document && (
                      <>
                        {" · "}
                        <Link href={to("documents", tool.document)}>its document</Link>
                      </>
                    )}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </LoadView>
    </section>
  );
}
