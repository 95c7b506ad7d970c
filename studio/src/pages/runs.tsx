// The list of runs, newest first: search, filter, page, compare, export and import.
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { Link, to, useRouter } from "../router";
import { ImportRun } from "../runs/export-import";
import { filterOf, isFiltered, queryOf, searchOf } from "../runs/filter";
import { RunFilters } from "../runs/filters";
import { RunTable } from "../runs/run-table";
import { LoadView, ErrorMessage, useLoad } from "../shell/load";
import { useInterval } from "../shell/use-interval";

/** How often the first page is refreshed. */
const EVERY_MS = 4_000;

export function RunsPage() {
  const { search, go } = useRouter();
  const filter = filterOf(search);
  const runs = useLoad(() => api.runs(queryOf(filter)), [search]);
  const tools = useLoad(() => api.tools(), []);
  const [picked, setPicked] = useState<string[]>([]);
  const [wrong, setWrong] = useState<Error>();
  useInterval(EVERY_MS, filter.after ? undefined : runs.again);
  useEffect(() => setWrong(undefined), [search]);
  const workflows = [...new Set([...(tools.value?.tools ?? []).map((tool) => tool.name), ...(runs.value?.runs ?? []).map((run) => run.workflow)])];
  const page = (after: string) => to("runs") + searchOf({ ...filter, after });
  const pick = (run: string) => setPicked(picked.includes(run) ? picked.filter((one) => one !== run) : [...picked, run].slice(-2));
  return (
    <section className="page broad">
      <header className="row">
        <h1>Runs</h1>
        <span className="grow" />
        <CompareLink picked={picked} />
        <ImportRun onWrong={setWrong} />
      </header>
      <RunFilters filter={filter} workflows={workflows} onChange={(next) => go(to("runs") + searchOf(next), { replace: true })} />
      {wrong && <ErrorMessage wrong={wrong} />}
      <LoadView from={runs}>
        {({ runs, next }) => (
          <>
            {runs.length === 0 ? (
              <p>{isFiltered(filter) || filter.after ? "No matching runs." : "No runs yet."}</p>
            ) : (
              <RunTable runs={runs} picked={picked} onPick={pick} onWrong={setWrong} />
            )}
            <nav className="row" aria-label="Pages">
              {filter.after && <Link href={page("")}>Newest</Link>}
              {next && <Link href={page(next)}>Older</Link>}
            </nav>
          </>
        )}
      </LoadView>
    </section>
  );
}

function CompareLink({ picked }: { picked: string[] }) {
  const [left, right] = picked;
  if (!left || !right) return <span className="quiet">Select two runs to compare them.</span>;
  return <Link href={`${to("compare")}?left=${encodeURIComponent(left)}&right=${encodeURIComponent(right)}`}>Compare the two runs</Link>;
}
