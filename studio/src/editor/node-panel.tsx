// The panel of the selected node: rename, connect, edit fields, remove.
import { useEffect, useMemo, useState } from "react";
import type { Edit, Graph, Json, Schema } from "../api/types";
import { FormContext, SchemaField } from "../form/field";
import { invalidJsonField } from "../form/schema-form";
import { RuleBuilder } from "./rule-builder";
import { ArgumentsField } from "./arguments-field";
import { FreeField } from "./free-field";
import { fieldEdits, nodeSchema } from "./node-fields";

type Fields = { [name: string]: Json };
type Props = { graph: Graph; node: string; format: string; fields?: Fields; schema?: Schema; onEdit: (edits: Edit[]) => Promise<boolean> };

export function NodePanel(props: Props) {
  const { graph, node, onEdit } = props;
  const shown = graph.nodes.find((one) => one.id === node);
  if (!shown) return null;
  if (shown.line === undefined)
    return (
      <section aria-label={`Node ${node}`}>
        <header className="row">
          <h2>{node}</h2>
          <span className="tag">{shown.kind}</span>
        </header>
        <p className="quiet">{IMPLICIT[shown.kind] ?? "This node is implicit in the document: it is part of another node. Edit that one."}</p>
      </section>
    );
  return (
    <section aria-label={`Node ${node}`}>
      <header className="row">
        <h2>{node}</h2>
        <span className="tag">{shown.kind}</span>
        <span className="grow" />
        <button type="button" className="stop" onClick={() => void onEdit([{ op: "remove_node", id: node }])}>
          Remove
        </button>
      </header>
      <Rename key={node} node={node} onEdit={onEdit} />
      {props.format === "sop" && <NodeText key={`${node} ${shown.label}`} node={node} text={shown.label} onEdit={onEdit} />}
      {props.format !== "sop" && <FieldsForm {...props} />}
      <OutgoingEdges graph={graph} node={node} hint={LABELS[props.format] ?? "error, or a rule as JSON"} onEdit={onEdit} />
    </section>
  );
}

/** Why an implicit node cannot be changed here. */
const IMPLICIT: { [kind: string]: string } = {
  entry: "This node is implicit in the document: it is the start of a run. Edit its inputs in the text.",
  exit: "This node is implicit in the document: it is the end of a run. Edit its outputs in the text.",
};

/** What the label of an edge can be, by format. */
const LABELS: { [format: string]: string } = { dag: "a DAG has no labels", ir: "error, or an action", sop: "label (optional)" };

function NodeText({ node, text, onEdit }: { node: string; text: string; onEdit: Props["onEdit"] }) {
  const [words, setWords] = useState(text);
  const now = words.trim();
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (now !== "" && now !== text) void onEdit([{ op: "set_field", id: node, path: ["text"], value: now }]);
      }}
    >
      <label>
        Text <input value={words} onChange={(event) => setWords(event.target.value)} />
      </label>
      <button type="submit" disabled={now === "" || now === text}>
        Set
      </button>
    </form>
  );
}

function Rename({ node, onEdit }: { node: string; onEdit: Props["onEdit"] }) {
  const [name, setName] = useState(node);
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "" && name !== node) void onEdit([{ op: "rename_node", id: node, to: name.trim() }]);
      }}
    >
      <label>
        Name <input value={name} spellCheck={false} onChange={(event) => setName(event.target.value)} />
      </label>
      <button type="submit" disabled={name.trim() === "" || name === node}>
        Rename
      </button>
    </form>
  );
}

function OutgoingEdges({ graph, node, hint, onEdit }: { graph: Graph; node: string; hint: string; onEdit: Props["onEdit"] }) {
  const [target, setTarget] = useState("");
  const [label, setLabel] = useState("");
  const out = graph.edges.filter((edge) => edge.from === node);
  return (
    <fieldset className="group">
      <legend>Outgoing edges</legend>
      <ul className="plain">
        {out.map((edge) => (
          <li key={edge.id} className="row">
            <code>{edge.to}</code> {edge.label && edge.kind !== "error" && <span className="quiet">{edge.label}</span>} {edge.kind === "error" && <span className="quiet">on error</span>}
            <button type="button" aria-label={`Disconnect ${edge.to}`} onClick={() => void onEdit([{ op: "disconnect", from: node, to: edge.to }])}>
              −
            </button>
          </li>
        ))}
      </ul>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          void onEdit([{ op: "connect", from: node, to: target, ...(label.trim() ? { label: label.trim() } : {}) }]);
          setTarget("");
          setLabel("");
        }}
      >
        <select aria-label="Node to connect to" value={target} onChange={(event) => setTarget(event.target.value)}>
          <option value="">a node…</option>
          {graph.nodes
            .filter((one) => one.id !== node && one.kind !== "entry" && one.line !== undefined)
            .map((one) => (
              <option key={one.id}>{one.id}</option>
            ))}
        </select>
        <input aria-label="Edge label" placeholder={hint} value={label} onChange={(event) => setLabel(event.target.value)} />
        <button type="submit" disabled={!target}>
          Connect
        </button>
      </form>
    </fieldset>
  );
}

/** The fields that hold the arguments of a call, in any format. */
const ARGUMENTS = new Set(["args", "arguments", "params"]);

/** What a node is about comes before what it has in common with others. */
const MAIN = new Set([...ARGUMENTS, "conditions", "transform", "expr", "for", "until", "workflow", "tool", "server"]);

function FieldsForm({ graph, node, format, fields, schema, onEdit }: Props) {
  const tool = graph.nodes.find((one) => one.id === node)?.tool;
  const [draft, setDraft] = useState<Fields>(fields ?? {});
  const before = JSON.stringify(fields ?? {});
  // Changes in the text replace unsaved input here.
  useEffect(() => setDraft(JSON.parse(before) as Fields), [node, before]);
  const type = JSON.stringify([fields?.["type"]]);
  const shape = useMemo(() => nodeSchema(schema, format, fields ?? {}), [schema, format, type]);
  const around = useMemo(() => ({ root: shape ?? {}, said: {} }), [shape]);
  if (!fields || !shape) return <p className="quiet">Edit its fields in the text.</p>;
  const properties = shape["properties"] as { [key: string]: Schema };
  const edits = fieldEdits(node, fields, draft, format);
  const set = (key: string, value: Json | undefined) => {
    const next = { ...draft };
    if (value === undefined) delete next[key];
    else next[key] = value;
    setDraft(next);
  };
  return (
    <form
      className="node-fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const flawed = invalidJsonField(event.currentTarget);
        if (flawed) flawed.focus();
        else void onEdit(edits);
      }}
    >
      <FormContext.Provider value={around}>
        {Object.entries(properties).sort(([a], [b]) => Number(MAIN.has(b)) - Number(MAIN.has(a))).map(([key, inner]) => {
          if (tool && ARGUMENTS.has(key)) return <ArgumentsField key={`${node} ${key} ${tool}`} tool={tool} name={key} value={draft[key]} onChange={(value) => set(key, value)} />;
          if (key === "conditions" && format === "yaml") return <RuleBuilder key={`${node} ${key} ${before}`} value={draft[key]} targets={targetsOf(graph, node)} names={namesOf(graph, node)} onChange={(value) => set(key, value)} />;
          const Kind = isFreeField(inner) ? FreeField : SchemaField;
          return <Kind key={`${node} ${key}`} schema={inner} name={key} pointer={`/${key}`} value={draft[key]} onChange={(value: Json | undefined) => set(key, value)} required={false} depth={4} />;
        })}
      </FormContext.Provider>
      <button type="submit" className="go" disabled={edits.length === 0}>
        Apply
      </button>
    </form>
  );
}

/** The nodes that a rule can lead to. */
function targetsOf(graph: Graph, node: string): string[] {
  return graph.nodes.filter((one) => one.id !== node && one.kind !== "entry" && one.line !== undefined).map((one) => one.id);
}

/** The nodes whose outputs a rule can read: those with a way to it. */
function namesOf(graph: Graph, node: string): string[] {
  const seen = new Set<string>();
  const open = [node];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const edge of graph.edges) if (edge.to === id && !seen.has(edge.from)) open.push((seen.add(edge.from), edge.from));
  }
  return graph.nodes.filter((one) => seen.has(one.id)).map((one) => one.id);
}

/** Whether a field accepts text as well as something else, or any value. */
function isFreeField(schema: Schema): boolean {
  return Array.isArray(schema["type"]) || (schema["type"] === undefined && !schema["enum"] && !schema["$ref"] && !schema["properties"]);
}
