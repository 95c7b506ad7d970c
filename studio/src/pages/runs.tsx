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
import { Chip } from "../ui/chip";
import { Empty } from "../ui/empty";
import { Icon } from "../ui/icon";

/** How often the first page is refreshed. */
const EVERY_MS = 3_000;

export function RunsPage() {
  const { search, go } = useRouter();
  const filter = filterOf(search);
  const runs = useLoad(() => api.runs(queryOf(filter)), [search]);
  const tools = useLoad(() => api.tools(), []);
  const about = useLoad(() => api.about(), []);
  const [picked, setPicked] = useState<string[]>([]);
  const [wrong, setWrong] = useState<Error>();
  useInterval(EVERY_MS, filter.after ? undefined : runs.again);
  useEffect(() => setWrong(undefined), [search]);
  const workflows = [...new Set([...(tools.value?.tools ?? []).map((tool) => tool.name), ...(runs.value?.runs ?? []).map((run) => run.workflow)])];
  const page = (after: string) => to("runs") + searchOf({ ...filter, after });
  const pick = (run: string) => setPicked(picked.includes(run) ? picked.filter((one) => one !== run) : [...picked, run].slice(-2));
  return (
    <section className="page broad">
      <header className="page-head">
        <h1>Runs</h1>
        {!filter.after && (
          <Chip tone="ok" icon="dot" title="The list updates by itself">
            Live
          </Chip>
        )}
        <span className="grow" />
        <CompareLink picked={picked} />
        <ImportRun onWrong={setWrong} />
      </header>
      <RunFilters filter={filter} statuses={about.value?.statuses ?? []} workflows={workflows} onChange={(next) => go(to("runs") + searchOf(next), { replace: true })} />
      {wrong && <ErrorMessage wrong={wrong} />}
      <LoadView from={runs}>
        {({ runs: rows, next }) => (
          <>
            {rows.length > 0 ? (
              <RunTable runs={rows} picked={picked} onPick={pick} onWrong={setWrong} onDone={runs.again} />
            ) : isFiltered(filter) || filter.after ? (
              <Empty icon="search" title="No matching runs.">
                <Link href={to("runs")}>Show all runs</Link>
              </Empty>
            ) : (
              <Empty icon="activity" title="No runs yet.">
                Start one from <Link href={to("tools")}>Workflows</Link>, or with <code>tramline run FILE</code>.
              </Empty>
            )}
            <nav className="row" aria-label="Pages">
              {filter.after && <Link className="btn" href={page("")}>Newest</Link>}
              {next && <Link className="btn" href={page(next)}>Older</Link>}
            </nav>
          </>
        )}
      </LoadView>
    </section>
  );
}

function CompareLink({ picked }: { picked: string[] }) {
  const [left, right] = picked;
  if (!left || !right) return <span className="quiet only-wide">Select two runs to compare them.</span>;
  return (
    <Link className="btn" href={`${to("compare")}?left=${encodeURIComponent(left)}&right=${encodeURIComponent(right)}`}>
      <Icon name="compare" /> Compare the two runs
    </Link>
  );
}
