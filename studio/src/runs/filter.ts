// The filter of the list of runs: read from and written to the URL, so that it can be linked to.

export type RunFilter = {
  status: string[];
  workflow: string;
  session: string;
  text: string;
  /** Days in the local calendar, as `2030-01-31`. */
  since: string;
  until: string;
  after: string;
};

/** The page's own word for runs that are `running` without a live process. */
export const INTERRUPTED = "interrupted";
export const PAGE = 50;

/** The words of the filter: every status of the server, and the interrupted ones next to the running ones. */
export function statusWords(statuses: string[]): string[] {
  return statuses.flatMap((status) => (status === "running" ? [status, INTERRUPTED] : [status]));
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function filterOf(search: string): RunFilter {
  const given = new URLSearchParams(search);
  const text = (name: string) => given.get(name) ?? "";
  const day = (name: string) => (DAY.test(text(name)) ? text(name) : "");
  const status = text("status").split(",").filter(Boolean);
  return { status, workflow: text("workflow"), session: text("session"), text: text("text"), since: day("since"), until: day("until"), after: text("after") };
}

/** The query string. Empty fields are omitted. */
export function searchOf(filter: RunFilter): string {
  const pairs = new URLSearchParams();
  const add = (name: string, value: string) => value && pairs.set(name, value);
  add("status", filter.status.join(","));
  add("workflow", filter.workflow);
  add("session", filter.session);
  add("text", filter.text);
  add("since", filter.since);
  add("until", filter.until);
  add("after", filter.after);
  const written = pairs.toString();
  return written ? `?${written}` : "";
}

/** The request. Both days are included. */
export function queryOf(filter: RunFilter): { [name: string]: string | number | undefined } {
  const begins = (day: string, later: number) => {
    const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
    return new Date(year, month - 1, date + later).getTime();
  };
  // Running and interrupted runs have one status on the server, and differ by their process.
  const [runs, cut] = [filter.status.includes("running"), filter.status.includes(INTERRUPTED)];
  const status = [...new Set(filter.status.map((one) => (one === INTERRUPTED ? "running" : one)))];
  return {
    status: status.join(",") || undefined,
    driven: runs !== cut ? String(runs) : undefined,
    workflow: filter.workflow || undefined,
    session_id: filter.session || undefined,
    text: filter.text || undefined,
    since_ms: filter.since ? begins(filter.since, 0) : undefined,
    until_ms: filter.until ? begins(filter.until, 1) - 1 : undefined,
    after: filter.after || undefined,
    most: PAGE,
  };
}

export function isFiltered(filter: RunFilter): boolean {
  return searchOf({ ...filter, after: "" }) !== "";
}
