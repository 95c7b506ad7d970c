// The runs, newest first: searched, narrowed, paged, compared, taken away and brought in.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { Link, to, useRouter } from "../router";
import { ImportRun } from "../runs/files";
import { filterOf, isNarrowed, queryOf, searchOf } from "../runs/filter";
import { Filters } from "../runs/filters";
import { RunTable } from "../runs/table";
import { Show, Trouble, useLoad } from "../shell/load";
import { useEvery } from "../shell/every";

/** How often the first page is asked for anew. */
const EVERY_MS = 4_000;

export function Runs() {
  const { search, go } = useRouter();
  const filter = filterOf(search);
  const runs = useLoad(() => api.runs(queryOf(filter)), [search]);
  const tools = useLoad(() => api.tools(), []);
  const [picked, setPicked] = useState<string[]>([]);
  const [wrong, setWrong] = useState<Error>();
  useEvery(EVERY_MS, filter.after ? undefined : runs.again);
  useEffect(() => setWrong(undefined), [search]);
  const workflows = [...new Set([...(tools.value?.tools ?? []).map((tool) => tool.name), ...(runs.value?.runs ?? []).map((run) => run.workflow)])];
  const page = (after: string) => to("runs") + searchOf({ ...filter, after });
  const pick = (run: string) => setPicked(picked.includes(run) ? picked.filter((one) => one !== run) : [...picked, run].slice(-2));
  return (
    <section className="page broad">
      <header className="row">
        <h1>Runs</h1>
        <span className="grow" />
        <Compared picked={picked} />
        <ImportRun onWrong={setWrong} />
      </header>
      <Filters filter={filter} workflows={workflows} onChange={(next) => go(to("runs") + searchOf(next), { replace: true })} />
      {wrong && <Trouble wrong={wrong} />}
      <Show from={runs}>
        {({ runs, next }) => (
          <>
            {runs.length === 0 ? (
              <p>{isNarrowed(filter) || filter.after ? "No run fits." : "Nothing has run yet."}</p>
            ) : (
              <RunTable runs={runs} picked={picked} onPick={pick} onWrong={setWrong} />
            )}
            <nav className="row" aria-label="Pages">
              {filter.after && <Link href={page("")}>Newest</Link>}
              {next && <Link href={page(next)}>Older</Link>}
            </nav>
          </>
        )}
      </Show>
    </section>
  );
}

function Compared({ picked }: { picked: string[] }) {
  const [left, right] = picked;
  if (!left || !right) return <span className="quiet">Pick two runs to compare them.</span>;
  return <Link href={`${to("compare")}?left=${encodeURIComponent(left)}&right=${encodeURIComponent(right)}`}>Compare the two</Link>;
}
