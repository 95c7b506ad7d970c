// The versions of a saved workflow: what changed between two of them, as a coloured graph and in the text.
import { useState } from "react";
import { api } from "../api/client";
import type { WorkflowVersion } from "../api/types";
import { hunks, lineDiff } from "../editor/diff";
import { GraphView } from "../graph/view";
import { ChangeSummary } from "../replan/view";
import { planChange } from "../replan/plan-change";
import { Link, to, useRouter } from "../router";
import { ago } from "../shell/format";
import { LoadView, useLoad } from "../shell/load";
import { Empty } from "../ui/empty";
import { Icon } from "../ui/icon";
import { Select } from "../ui/select";

export function VersionsPage({ name }: { name: string }) {
  const found = useLoad(() => api.versions(name), [name]);
  return (
    <section className="page broad versions">
      <header className="page-head">
        <h1>Versions of {name}</h1>
        <span className="grow" />
        <Link className="btn" href={to("tools", name)}>
          <Icon name="workflow" /> The workflow
        </Link>
      </header>
      <LoadView from={found}>{({ versions }) => <Versions versions={versions} />}</LoadView>
    </section>
  );
}

function Versions({ versions }: { versions: WorkflowVersion[] }) {
  const { search, go, path } = useRouter();
  const given = new URLSearchParams(search);
  const at = (key: string, otherwise: number) => versions.find((one) => one.version === Number(given.get(key))) ?? versions[Math.min(otherwise, versions.length - 1)];
  const [before, after] = [at("before", 1), at("after", 0)];
  if (!before || !after) return <Empty icon="workflow" title="This workflow has no saved versions.">A workflow of a document has the versions of its file.</Empty>;
  const choose = (key: string, value: string) => {
    given.set(key, value);
    go(`${path}?${given.toString()}`, { replace: true });
  };
  const options = versions.map((one) => ({ value: String(one.version), label: `Version ${one.version} · ${one.by} · ${ago(Date.now() - one.at_ms)}` }));
  return (
    <>
      <div className="row version-pick">
        <Select label="Before" value={String(before.version)} options={options} onChange={(value) => choose("before", value)} />
        <Icon name="arrow" />
        <Select label="After" value={String(after.version)} options={options} onChange={(value) => choose("after", value)} />
      </div>
      {versions.length === 1 && <p className="quiet">There is one version so far.</p>}
      <VersionChange key={`${before.version} ${after.version}`} before={before} after={after} />
    </>
  );
}

function VersionChange({ before, after }: { before: WorkflowVersion; after: WorkflowVersion }) {
  const [whole, setWhole] = useState(false);
  const change = before.graph && after.graph ? planChange(before.graph, after.graph) : undefined;
  return (
    <>
      {before.description !== after.description && (
        <p>
          <del>{before.description}</del> <ins>{after.description}</ins>
        </p>
      )}
      {change ? (
        <>
          <ChangeSummary change={change} what="workflow" />
          <div className="card version-graph">
            <GraphView graph={change.graph} name="What changed" marks={change.marks} remarks={change.remarks} />
          </div>
        </>
      ) : (
        <p className="hint">One of the versions is not valid any more and has no graph.</p>
      )}
      <div className="sect">
        <h2>Text</h2>
        <label className="check">
          <input type="checkbox" checked={whole} onChange={(event) => setWhole(event.target.checked)} /> whole text
        </label>
      </div>
      <TextDiff before={before.text} after={after.text} whole={whole} />
    </>
  );
}

const SIGNS = { same: "  ", gone: "− ", new: "+ " };
const WORDS = { same: "", gone: "removed: ", new: "added: " };

function TextDiff({ before, after, whole }: { before: string; after: string; whole: boolean }) {
  const rows = lineDiff(before, after);
  if (rows.every((row) => row.kind === "same")) return <p className="quiet">The texts are equal.</p>;
  return (
    <pre className="card text-diff" tabIndex={0} role="region" aria-label="Changed lines">
      {(whole ? rows : hunks(rows)).map((row, at) =>
        row === undefined ? (
          <span key={at} className="diff-line" data-kind="cut">
            {"⋯\n"}
          </span>
        ) : (
          <span key={at} className="diff-line" data-kind={row.kind}>
            <span aria-hidden="true">{SIGNS[row.kind]}</span>
            <span className="unseen">{WORDS[row.kind]}</span>
            {row.text}
            {"\n"}
          </span>
        ),
      )}
    </pre>
  );
}
