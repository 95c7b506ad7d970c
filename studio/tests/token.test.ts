// The operator's URL: its credential is stored in the tab, and removed from the URL.
import { beforeEach, expect, it, vi } from "vitest";

const kept = new Map<string, string>();
type Sent = { path: string; body: unknown };
let sent: Sent[] = [];
let addresses: string[] = [];

beforeEach(() => {
  kept.clear();
  sent = [];
  addresses = [];
  vi.resetModules();
  globalThis.sessionStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
});

/** Opens the page with this URL fragment, at a server that gives this response to requests for the key. */
async function opened(hash: string, status = 200, reply: unknown = { key: "k1" }) {
  globalThis.fetch = (path, init) => {
    sent.push({ path: String(path), body: JSON.parse(String(init?.body)) });
    // The URL is clean before the code is sent.
    expect(addresses).toEqual(["/studio/runs?a=1"]);
    return Promise.resolve(new Response(JSON.stringify(reply), { status }));
  };
  const at = { hash, pathname: "/studio/runs", search: "?a=1" } as Location;
  const to = { replaceState: (_: unknown, __: string, address: string) => void addresses.push(address) };
  const it = await import("../src/api/token");
  await it.takeCredentialFromUrl(at, to as unknown as History);
  return it;
}

it("exchanges a code for the key and clears the address", async () => {
  const { token, tokenPromptState } = await opened("#code=0a1b");
  expect(addresses).toEqual(["/studio/runs?a=1"]);
  expect(sent).toEqual([{ path: "/api/studio/key", body: { code: "0a1b" } }]);
  expect([token(), tokenPromptState()]).toEqual(["k1", "not"]);
});

it("says why a code gave no key", async () => {
  const { token, tokenPromptState, urlError, storeToken } = await opened("#code=0a1b", 403, { error: { kind: "bad_code", message: "used" } });
  expect([token(), tokenPromptState(), urlError()]).toEqual([null, "first", "used"]);
  storeToken("t");
  expect([token(), tokenPromptState(), urlError()]).toEqual(["t", "not", undefined]);
});

it("keeps the key that the tab has if the same address is opened again", async () => {
  kept.set("tramline-token", "k0");
  const { token, tokenPromptState } = await opened("#code=0a1b", 403, { error: { kind: "bad_code", message: "used" } });
  expect([token(), tokenPromptState()]).toEqual(["k0", "not"]);
});

it("keeps a token that was typed and clears the address", async () => {
  const { token } = await opened("#token=0a1b");
  expect(addresses).toEqual(["/studio/runs?a=1"]);
  expect(token()).toBe("0a1b");
  expect(sent).toEqual([]);
});

it("leaves every other address alone", async () => {
  for (const hash of ["", "#step-3", "#token=", "#token=a b", "#code=", "#code=x/y"]) {
    const { token } = await opened(hash);
    expect([addresses, sent, token()]).toEqual([[], [], null]);
  }
});
