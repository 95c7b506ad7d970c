// The documents that the studio was opened with.
import { api } from "../api/client";
import { Link, to } from "../router";
import { LoadView, useLoad } from "../shell/load";

export function DocumentsPage() {
  const documents = useLoad(() => api.documents(), []);
  return (
    <section className="page">
      <h1>Documents</h1>
      <LoadView from={documents}>
        {({ documents }) =>
          documents.length === 0 ? (
            <p>
              No documents are open. <code>tramline studio FILE…</code> opens some.
            </p>
          ) : (
            <ul className="cards">
              {documents.map((document) => (
                <li key={document.id}>
                  <h2>
                    <Link href={to("documents", document.id)}>{document.name}</Link>
                  </h2>
                  <p className="quiet">
                    {document.format} · <code>{document.path}</code>
                    {!document.writable && " · read only"}
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
