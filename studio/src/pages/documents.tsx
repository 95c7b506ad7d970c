// The documents that the studio was opened with.
import { api } from "../api/client";
import { useDrafts } from "../editor/drafts";
import { Link, to } from "../router";
import { LoadView, useLoad } from "../shell/load";
import { Chip } from "../ui/chip";
import { Empty } from "../ui/empty";
import { Icon } from "../ui/icon";

const FORMATS: { [format: string]: string } = { yaml: "YAML graph", dag: "JSON plan", ir: "JSON workflow", markdown: "Markdown workflow", sop: "Procedure" };

export function DocumentsPage() {
  const documents = useLoad(() => api.documents(), []);
  const drafts = new Set(useDrafts().map((draft) => draft.id));
  return (
    <section className="page">
      <h1>Documents</h1>
      <LoadView from={documents}>
        {({ documents }) =>
          documents.length === 0 ? (
            <div className="card">
              <Empty icon="document" title="No documents are open.">
                <code>tramline studio FILE…</code> opens some; they can be edited here as text and as a graph.
              </Empty>
            </div>
          ) : (
            <ul className="card rows">
              {documents.map((document) => (
                <li key={document.id} className="run-row">
                  <span className="quiet">
                    <Icon name={document.format === "sop" ? "tasks" : "document"} size={17} />
                  </span>
                  <div>
                    <h2 className="row-name">
                      <Link href={to("documents", document.id)}>{document.name}</Link>
                    </h2>
                    <p className="quiet preview">
                      <code>{document.path}</code>
                    </p>
                  </div>
                  <span className="row">
                    {drafts.has(document.id) && <Chip tone="wait">unsaved edits</Chip>}
                    {!document.writable && <Chip>read only</Chip>}
                    <Chip>{FORMATS[document.format] ?? document.format}</Chip>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </LoadView>
    </section>
  );
}
