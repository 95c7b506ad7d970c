// Starts a workflow: its input, its earlier inputs, and the run options.
import { useState } from "react";
import { api } from "../api/client";
import type { Json, Tool } from "../api/types";
import { to, useRouter } from "../router";
import { moment } from "../shell/format";
import { Icon } from "../ui/icon";
import { invalidJsonField, SchemaForm } from "./schema-form";
import { defaultOptions, RunOptions } from "./run-options";
import { clearInputs, storeInput, storedInputs, type StoredInput } from "./input-history";
import { parseErrors, errorsWithoutField, type ServerErrors } from "./server-errors";
import { storedBreakpoints } from "../run/stored-breakpoints";
import { isPin } from "../run/pins";
import { initialValue } from "./value";

export function StartForm({ tool, input: given, pinned }: { tool: Tool; /** An input to start from, instead of the defaults. */ input?: Json; /** Whether pinned outputs are used. */ pinned?: boolean }) {
  const { go } = useRouter();
  const schema = tool.input_schema;
  const [input, setInput] = useState<Json | undefined>(() => given ?? initialValue(schema, schema) ?? {});
  const [turn, setTurn] = useState(0);
  const [kept, setKept] = useState(() => storedInputs(tool.name));
  // Breakpoints are kept per workflow, and used only if the user turns them on.
  const [options, setOptions] = useState(() => {
    const earlier = storedBreakpoints(tool.name);
    return { ...defaultOptions, earlier, breakpoints: pinned ? earlier.filter(isPin) : [] };
  });
  const [said, setSaid] = useState<ServerErrors>();
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
      storeInput(tool.name, input ?? {}, schema, Date.now());
      go(to("runs", run_id));
    } catch (caught) {
      setSaid(parseErrors((caught as Error).message));
      setBusy(false);
    }
  };
  const rest = said ? errorsWithoutField(said, shownPointers()) : [];
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const flawed = invalidJsonField(event.currentTarget);
        if (!flawed) return void start();
        setSaid({ fields: {}, rest: ["A field contains invalid JSON."] });
        flawed.focus();
      }}
    >
      {kept.length > 0 && (
        <EarlierInputs
          kept={kept}
          onPick={(value) => fill(value)}
          onForget={() => {
            clearInputs(tool.name);
            setKept([]);
          }}
        />
      )}
      <SchemaForm
        key={turn}
        schema={schema}
        value={input}
        onChange={(value) => {
          setInput(value);
          // What the server said was about the value before.
          setSaid(undefined);
        }}
        said={said}
        name="Input"
      />
      <RunOptions tool={tool} value={options} onChange={setOptions} />
      {rest.length > 0 && (
        <div className="trouble" role="alert">
          {rest.map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      )}
      {said && rest.length === 0 && <p className="wrong">The server rejected the input: see the fields above.</p>}
      <button type="submit" className="go" disabled={busy}>
        <Icon name="play" /> Run
      </button>
    </form>
  );
}

/** The fields that are currently on the page. */
function shownPointers(): Set<string> {
  const fields = document.querySelectorAll<HTMLElement>("[data-pointer]");
  return new Set([...fields].map((one) => one.dataset["pointer"] ?? ""));
}

function EarlierInputs({ kept, onPick, onForget }: { kept: StoredInput[]; onPick: (input: Json) => void; onForget: () => void }) {
  return (
    <div className="row">
      <label>
        Earlier inputs{" "}
        <select value="" onChange={(event) => kept[Number(event.target.value)] && onPick(kept[Number(event.target.value)]!.input)}>
          <option value="">choose an input…</option>
          {kept.map((one, index) => (
            <option key={index} value={index}>
              {moment(one.at_ms)} · {JSON.stringify(one.input).slice(0, 60)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={onForget}>
        Clear earlier inputs
      </button>
    </div>
  );
}
