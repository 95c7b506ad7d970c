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

export const STATUSES = ["running", "paused", "completed", "failed", "rejected", "aborted", "expired", "stalled"] as const;
export const PAGE = 50;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function filterOf(search: string): RunFilter {
  const given = new URLSearchParams(search);
  const text = (name: string) => given.get(name) ?? "";
  const day = (name: string) => (DAY.test(text(name)) ? text(name) : "");
  const status = text("status").split(",").filter((one) => (STATUSES as readonly string[]).includes(one));
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
  return {
    status: filter.status.join(",") || undefined,
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
