// The access token: kept for this tab, never in a URL.

const KEY = "tramline-token";
const listeners = new Set<() => void>();
let wanted: "not" | "first" | "again" = "not";
let refusal: string | undefined;

/**
 * The URL that opens the studio contains a one-time code in `#code=`, which is exchanged for the studio's key; an
 * operator's token may be typed after `#token=`. Either is removed from the URL at once.
 */
export async function takeCredentialFromUrl(at: Location = location, to: History = history): Promise<void> {
  const given = /^#token=([0-9a-zA-Z._~-]+)$/.exec(at.hash)?.[1];
  const code = /^#code=([0-9a-f]+)$/.exec(at.hash)?.[1];
  if (!given && !code) return;
  to.replaceState(null, "", at.pathname + at.search);
  if (given) sessionStorage.setItem(KEY, given);
  else if (code) await exchangeCode(code);
}

/** Exchanges a code for the studio's key. If that fails and this tab has no key yet, the page shows the reason. */
async function exchangeCode(code: string): Promise<void> {
  const reply = await requestKey({ code });
  if (reply.key) sessionStorage.setItem(KEY, reply.key);
  else if (token() === null) {
    refusal = reply.message;
    notifyListeners("first");
  }
}

/** Makes the server print a new URL for the operator, and returns where to look for it. */
export async function requestNewUrl(): Promise<string> {
  return (await requestKey({})).message;
}

async function requestKey(body: { code?: string }): Promise<{ key?: string; message: string }> {
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

/** Whether a request was rejected because there is no token, or because the entered one is invalid. */
export function tokenPromptState(): typeof wanted {
  return wanted;
}

/** Why the URL that opened the page gave no key, if it did not. */
export function urlError(): string | undefined {
  return refusal;
}

/** A request with this token was rejected. A token entered since then has still to be tried. */
export function rejectToken(used: string | null): void {
  if (token() !== used) return;
  sessionStorage.removeItem(KEY);
  notifyListeners(used === null && wanted !== "again" ? "first" : "again");
}

export function storeToken(given: string): void {
  sessionStorage.setItem(KEY, given);
  refusal = undefined;
  notifyListeners("not");
}

export function onToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notifyListeners(now: typeof wanted): void {
  if (now === wanted && now !== "not") return;
  wanted = now;
  for (const listener of listeners) listener();
}
