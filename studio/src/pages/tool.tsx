// One workflow: what it takes, and a form to start it.
import { useState } from "react";
import { api } from "../api/client";
import type { Json, Tool } from "../api/types";
import { to, useRouter } from "../router";
import { Show, Trouble, useLoad } from "../shell/load";

export function ToolPage({ name }: { name: string }) {
  const tools = useLoad(() => api.tools(), []);
  return (
    <section className="page">
      <h1>{name}</h1>
      <Show from={tools}>
        {({ tools }) => {
          const tool = tools.find((one) => one.name === name);
          return tool ? <Start tool={tool} /> : <p>There is no workflow of this name.</p>;
        }}
      </Show>
    </section>
  );
}

function Start({ tool }: { tool: Tool }) {
  const { go } = useRouter();
  const [text, setText] = useState("{}");
  const [wrong, setWrong] = useState<Error>();
  const start = async () => {
    try {
      const { run_id } = await api.start(tool.name, { input: JSON.parse(text) as Json });
      go(to("runs", run_id));
    } catch (caught) {
      setWrong(caught as Error);
    }
  };
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <p>{tool.description}</p>
      <label>
        Input
        <textarea rows={8} value={text} onChange={(event) => setText(event.target.value)} spellCheck={false} />
      </label>
      {wrong && <Trouble wrong={wrong} />}
      <button type="submit" className="go">
        Run
      </button>
    </form>
  );
}
