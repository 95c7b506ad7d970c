// The token that a server asks for: kept for this tab, never in an address.

const KEY = "tramline-token";
const heard = new Set<() => void>();
let wanted: "not" | "first" | "again" = "not";

/** The operator's own address of the studio carries a key behind `#token=`; it is taken out of the address at once. */
export function takeFromAddress(at: Location = location, to: History = history): void {
  const given = /^#token=([0-9a-zA-Z._~-]+)$/.exec(at.hash)?.[1];
  if (!given) return;
  sessionStorage.setItem(KEY, given);
  to.replaceState(null, "", at.pathname + at.search);
}

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Whether a request was refused for want of a token, or since the one that was given is no good. */
export function tokenWanted(): typeof wanted {
  return wanted;
}

/** A request with this token was refused. One that was given since then is still to be tried. */
export function forget(used: string | null): void {
  if (token() !== used) return;
  sessionStorage.removeItem(KEY);
  tell(used === null && wanted !== "again" ? "first" : "again");
}

export function keep(given: string): void {
  sessionStorage.setItem(KEY, given);
  tell("not");
}

export function onToken(listener: () => void): () => void {
  heard.add(listener);
  return () => heard.delete(listener);
}

function tell(now: typeof wanted): void {
  if (now === wanted && now !== "not") return;
  wanted = now;
  for (const listener of heard) listener();
}
