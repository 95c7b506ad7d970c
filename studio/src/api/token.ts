// The token that a server beyond loopback asks for: kept for this tab, never in an address.

const KEY = "tramline-token";
const heard = new Set<() => void>();
let wanted = false;

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Whether a request was refused for want of a token. */
export function tokenWanted(): boolean {
  return wanted;
}

/** A request was refused: what was kept is no good. */
export function forget(): void {
  sessionStorage.removeItem(KEY);
  tell(true);
}

export function keep(given: string): void {
  sessionStorage.setItem(KEY, given);
  tell(false);
}

export function onToken(listener: () => void): () => void {
  heard.add(listener);
  return () => heard.delete(listener);
}

function tell(now: boolean): void {
  wanted = now;
  for (const listener of heard) listener();
}
