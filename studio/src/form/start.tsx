// Starting a workflow: its input, the inputs it had before, and how it is to run.
import { useState } from "react";
import { api } from "../api/client";
import type { Json, Tool } from "../api/types";
import { to, useRouter } from "../router";
import { moment } from "../shell/words";
import { flawedIn, SchemaForm } from "./form";
import { plainOptions, RunOptions } from "./options";
import { forgetAll, remember, remembered, type Kept } from "./remembered";
import { placed, unplaced, type Said } from "./said";
import { blank } from "./value";

export function Start({ tool }: { tool: Tool }) {
  const { go } = useRouter();
  const schema = tool.input_schema;
  const [input, setInput] = useState<Json | undefined>(() => blank(schema, schema) ?? {});
  const [turn, setTurn] = useState(0);
  const [kept, setKept] = useState(() => remembered(tool.name));
  const [options, setOptions] = useState(plainOptions);
  const [said, setSaid] = useState<Said>();
  const [busy, setBusy] = useState(false);

  const fill = (value: Json | undefined) => {
    setInput(value);
    setSaid(undefined);
    setTurn(turn + 1);
  };
  const start = async () => {
    setBusy(true);
    setSaid(undefined);
    try {
      const breakpoints = options.breakpoints.filter((one) => one.node.trim() !== "");
      const { run_id } = await api.start(tool.name, {
        input: input ?? {},
        breakpoints: breakpoints.length ? breakpoints : undefined,
        pause_at_start: options.pause || undefined,
        session_id: options.session.trim() || undefined,
      });
      remember(tool.name, input ?? {}, schema, Date.now());
      go(to("runs", run_id));
    } catch (caught) {
      setSaid(placed((caught as Error).message));
      setBusy(false);
    }
  };
  const rest = said ? unplaced(said, shownPointers()) : [];
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const flawed = flawedIn(event.currentTarget);
        if (!flawed) return void start();
        setSaid({ fields: {}, rest: ["What is to be JSON is none yet."] });
        flawed.focus();
      }}
    >
      {kept.length > 0 && (
        <Before
          kept={kept}
          onPick={(value) => fill(value)}
          onForget={() => {
            forgetAll(tool.name);
            setKept([]);
          }}
        />
      )}
      <SchemaForm key={turn} schema={schema} value={input} onChange={setInput} said={said} name="Input" />
      <RunOptions tool={tool} value={options} onChange={setOptions} />
      {rest.length > 0 && (
        <div className="trouble" role="alert">
          {rest.map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      )}
      {said && rest.length === 0 && <p className="wrong">The server did not take it: see the fields above.</p>}
      <button type="submit" className="go" disabled={busy}>
        Run
      </button>
    </form>
  );
}

/** The fields that are on the page now. */
function shownPointers(): Set<string> {
  const fields = document.querySelectorAll<HTMLElement>("[data-pointer]");
  return new Set([...fields].map((one) => one.dataset["pointer"] ?? ""));
}

function Before({ kept, onPick, onForget }: { kept: Kept[]; onPick: (input: Json) => void; onForget: () => void }) {
  return (
    <div className="row">
      <label>
        As before{" "}
        <select value="" onChange={(event) => kept[Number(event.target.value)] && onPick(kept[Number(event.target.value)]!.input)}>
          <option value="">an earlier input…</option>
          {kept.map((one, index) => (
            <option key={index} value={index}>
              {moment(one.at_ms)} · {JSON.stringify(one.input).slice(0, 60)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={onForget}>
        Forget them
      </button>
    </div>
  );
}
