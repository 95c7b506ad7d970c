// All workflows that can be run.
import { useMemo, useState } from "react";
import { api } from "../api/client";
import { workflowFacts } from "../home/statistics";
import { WorkflowCard } from "../home/workflow-card";
import { LoadView, useLoad } from "../shell/load";
import { Empty } from "../ui/empty";
import { Select } from "../ui/select";

const SORTS = [
  { value: "latest", label: "Latest run first" },
  { value: "name", label: "By name" },
  { value: "success", label: "Lowest success first" },
];

export function ToolsPage() {
  const tools = useLoad(() => api.tools(), []);
  const runs = useLoad(() => api.runs({ most: 200 }), []);
  const documents = useLoad(() => api.documents(), []);
  const facts = useMemo(() => workflowFacts(runs.value?.runs ?? []), [runs.value]);
  const [text, setText] = useState("");
  const [sort, setSort] = useState("latest");
  return (
    <section className="page broad">
      <header className="page-head">
        <h1>Workflows</h1>
        <span className="grow" />
        <label>
          <span className="unseen">Find a workflow</span>
          <input type="search" placeholder="Find a workflow" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
        <Select label="Order" value={sort} options={SORTS} onChange={setSort} />
      </header>
      <LoadView from={tools}>
        {({ tools }) => {
          if (tools.length === 0) {
            return (
              <div className="card">
                <Empty icon="workflow" title="There are no workflows yet.">
                  <code>tramline studio FILE…</code> opens documents; workflows that agents save appear here too.
                </Empty>
              </div>
            );
          }
          const wanted = text.trim().toLowerCase();
          const found = tools.filter((tool) => `${tool.name} ${tool.title ?? ""} ${tool.description ?? ""}`.toLowerCase().includes(wanted));
          const value = (name: string) => (sort === "success" ? (facts[name]?.success ?? 101) : -(facts[name]?.last?.updated_ms ?? 0));
          const sorted = [...found].sort((a, b) => (sort === "name" ? 0 : value(a.name) - value(b.name)) || a.name.localeCompare(b.name));
          if (sorted.length === 0) return <Empty icon="search" title="No workflow matches." />;
          return (
            <ul className="workflows">
              {sorted.map((tool) => (
                <WorkflowCard key={tool.name} tool={tool} facts={facts[tool.name]} source={documents.value?.documents.find((one) => one.id === tool.document)?.path ?? (tool.source === "library" ? "library" : undefined)} />
              ))}
            </ul>
          );
        }}
      </LoadView>
    </section>
  );
}
