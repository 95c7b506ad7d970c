// The key in the operator's own address: taken into the tab, and out of the address.
import { beforeEach, expect, it } from "vitest";
import { takeFromAddress, token } from "../src/api/token";

const kept = new Map<string, string>();

beforeEach(() => {
  kept.clear();
  globalThis.sessionStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
});

function opened(hash: string): string[] {
  const addresses: string[] = [];
  const at = { hash, pathname: "/studio/runs", search: "?a=1" } as Location;
  const to = { replaceState: (_: unknown, __: string, address: string) => void addresses.push(address) };
  takeFromAddress(at, to as unknown as History);
  return addresses;
}

it("keeps the key and clears the address", () => {
  expect(opened("#token=0a1b")).toEqual(["/studio/runs?a=1"]);
  expect(token()).toBe("0a1b");
});

it("leaves every other address alone", () => {
  for (const hash of ["", "#step-3", "#token=", "#token=a b"]) {
    expect(opened(hash)).toEqual([]);
    expect(token()).toBeNull();
  }
});
