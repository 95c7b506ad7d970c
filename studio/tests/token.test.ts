// The operator's own address: what it carries is taken into the tab, and out of the address.
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

/** The page opened with this behind its address, at a server that answers requests for the key so. */
async function opened(hash: string, status = 200, reply: unknown = { key: "k1" }) {
  globalThis.fetch = (path, init) => {
    sent.push({ path: String(path), body: JSON.parse(String(init?.body)) });
    // The address is clean before the code leaves.
    expect(addresses).toEqual(["/studio/runs?a=1"]);
    return Promise.resolve(new Response(JSON.stringify(reply), { status }));
  };
  const at = { hash, pathname: "/studio/runs", search: "?a=1" } as Location;
  const to = { replaceState: (_: unknown, __: string, address: string) => void addresses.push(address) };
  const it = await import("../src/api/token");
  await it.takeFromAddress(at, to as unknown as History);
  return it;
}

it("exchanges a code for the key and clears the address", async () => {
  const { token, tokenWanted } = await opened("#code=0a1b");
  expect(addresses).toEqual(["/studio/runs?a=1"]);
  expect(sent).toEqual([{ path: "/api/studio/key", body: { code: "0a1b" } }]);
  expect([token(), tokenWanted()]).toEqual(["k1", "not"]);
});

it("says why a code gave no key", async () => {
  const { token, tokenWanted, addressRefusal, keep } = await opened("#code=0a1b", 403, { error: { kind: "bad_code", message: "used" } });
  expect([token(), tokenWanted(), addressRefusal()]).toEqual([null, "first", "used"]);
  keep("t");
  expect([token(), tokenWanted(), addressRefusal()]).toEqual(["t", "not", undefined]);
});

it("keeps the key that the tab has if the same address is opened again", async () => {
  kept.set("tramline-token", "k0");
  const { token, tokenWanted } = await opened("#code=0a1b", 403, { error: { kind: "bad_code", message: "used" } });
  expect([token(), tokenWanted()]).toEqual(["k0", "not"]);
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
