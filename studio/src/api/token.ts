// The token that a server asks for: kept for this tab, never in an address.

const KEY = "tramline-token";
const heard = new Set<() => void>();
let wanted: "not" | "first" | "again" = "not";
let refusal: string | undefined;

/**
 * The address that the studio is opened with carries a one-time code behind `#code=`, which is exchanged for the
 * studio's key; a token of the operator's may be typed behind `#token=`. Either is taken out of the address at once.
 */
export async function takeFromAddress(at: Location = location, to: History = history): Promise<void> {
  const given = /^#token=([0-9a-zA-Z._~-]+)$/.exec(at.hash)?.[1];
  const code = /^#code=([0-9a-f]+)$/.exec(at.hash)?.[1];
  if (!given && !code) return;
  to.replaceState(null, "", at.pathname + at.search);
  if (given) sessionStorage.setItem(KEY, given);
  else if (code) await exchange(code);
}

/** Exchanges a code for the studio's key. Where that fails and this tab has no key yet, the page says why. */
async function exchange(code: string): Promise<void> {
  const reply = await askForKey({ code });
  if (reply.key) sessionStorage.setItem(KEY, reply.key);
  else if (token() === null) {
    refusal = reply.message;
    tell("first");
  }
}

/** Has the server print a further address for the operator, and says where to look for it. */
export async function askForAddress(): Promise<string> {
  return (await askForKey({})).message;
}

async function askForKey(body: { code?: string }): Promise<{ key?: string; message: string }> {
  const headers = { "content-type": "application/json" };
  try {
    const reply = await fetch("/api/studio/key", { method: "POST", headers, body: JSON.stringify(body) });
    const said = (await reply.json()) as { key?: string; error?: { message?: string } };
    return { key: said.key, message: said.error?.message ?? `The server answered ${reply.status}.` };
  } catch (wrong) {
    return { message: `The server did not answer: ${wrong instanceof Error ? wrong.message : String(wrong)}. Load the page again.` };
  }
}

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Whether a request was refused for want of a token, or since the one that was given is no good. */
export function tokenWanted(): typeof wanted {
  return wanted;
}

/** Why the address that the page was opened with gave no key, if that is so. */
export function addressRefusal(): string | undefined {
  return refusal;
}

/** A request with this token was refused. One that was given since then is still to be tried. */
export function forget(used: string | null): void {
  if (token() !== used) return;
  sessionStorage.removeItem(KEY);
  tell(used === null && wanted !== "again" ? "first" : "again");
}

export function keep(given: string): void {
  sessionStorage.setItem(KEY, given);
  refusal = undefined;
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
