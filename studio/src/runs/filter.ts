// What the list of runs is narrowed to: read from the address and written to it, so that it can be linked to.

export type Filter = {
  status: string[];
  workflow: string;
  session: string;
  text: string;
  /** Days on this machine's calendar, as `2030-01-31`. */
  since: string;
  until: string;
  after: string;
};

export const STATES = ["running", "paused", "completed", "failed", "rejected", "aborted", "expired", "stalled"] as const;
export const PAGE = 50;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function filterOf(search: string): Filter {
  const given = new URLSearchParams(search);
  const text = (name: string) => given.get(name) ?? "";
  const day = (name: string) => (DAY.test(text(name)) ? text(name) : "");
  const status = text("status").split(",").filter((one) => (STATES as readonly string[]).includes(one));
  return { status, workflow: text("workflow"), session: text("session"), text: text("text"), since: day("since"), until: day("until"), after: text("after") };
}

/** The part of an address after its path. What says nothing is left out. */
export function searchOf(filter: Filter): string {
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

/** What the server is asked. Both days belong to what is asked for. */
export function queryOf(filter: Filter): { [name: string]: string | number | undefined } {
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

export function isNarrowed(filter: Filter): boolean {
  return searchOf({ ...filter, after: "" }) !== "";
}
