// A document: its text and its graphs side by side.
import { useState } from "react";
import { api } from "../api/client";
import { GraphView } from "../graph/view";
import { Show, useLoad } from "../shell/load";

export default function DocumentPage({ id }: { id: string }) {
  const document = useLoad(() => api.document(id), [id]);
  return (
    <section className="page wide">
      <Show from={document}>
        {({ name, text, format }) => (
          <>
            <h1>{name}</h1>
            <Graphs text={text} format={format} />
          </>
        )}
      </Show>
    </section>
  );
}

function Graphs({ text, format }: { text: string; format: string }) {
  const checked = useLoad((signal) => api.check({ text, format }, signal), [text, format]);
  const [selected, setSelected] = useState<string>();
  return (
    <div className="split">
      <pre className="text" tabIndex={0} aria-label="Text">
        {text}
      </pre>
      <Show from={checked}>
        {({ workflows, procedure }) => {
          const graph = procedure ?? workflows[0]?.graph;
          return graph ? <GraphView graph={graph} name={`Graph of ${graph.name}`} selected={selected} onSelect={setSelected} /> : <p>It holds no graph.</p>;
        }}
      </Show>
    </div>
  );
}
