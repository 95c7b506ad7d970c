// A workflow: its description, and a form to start it.
import { api } from "../api/client";
import { StartForm } from "../form/start-form";
import { Link, to } from "../router";
import { LoadView, useLoad } from "../shell/load";

export function ToolPage({ name }: { name: string }) {
  const tools = useLoad(() => api.tools(), []);
  return (
    <section className="page">
      <h1>{tools.value?.tools.find((one) => one.name === name)?.title ?? name}</h1>
      <LoadView from={tools}>
        {({ tools }) => {
          const tool = tools.find((one) => one.name === name);
          if (!tool) return <p>There is no workflow with this name.</p>;
          return (
            <>
              {tool.description && <p>{tool.description}</p>}
              <p className="row">
                {tool.document && <Link href={to("documents", tool.document)}>Its document</Link>}
                <Link href={`${to("runs")}?workflow=${encodeURIComponent(tool.name)}`}>Its runs</Link>
              </p>
              <StartForm tool={tool} />
            </>
          );
        }}
      </LoadView>
    </section>
  );
}
