// One workflow: what it takes, and a form to start it.
import { api } from "../api/client";
import { Start } from "../form/start";
import { Link, to } from "../router";
import { Show, useLoad } from "../shell/load";

export function ToolPage({ name }: { name: string }) {
  const tools = useLoad(() => api.tools(), []);
  return (
    <section className="page">
      <h1>{tools.value?.tools.find((one) => one.name === name)?.title ?? name}</h1>
      <Show from={tools}>
        {({ tools }) => {
          const tool = tools.find((one) => one.name === name);
          if (!tool) return <p>There is no workflow of this name.</p>;
          return (
            <>
              {tool.description && <p>{tool.description}</p>}
              <p className="row">
                {tool.document && <Link href={to("documents", tool.document)}>Its document</Link>}
                <Link href={`${to("runs")}?workflow=${encodeURIComponent(tool.name)}`}>Its runs</Link>
              </p>
              <Start tool={tool} />
            </>
          );
        }}
      </Show>
    </section>
  );
}
