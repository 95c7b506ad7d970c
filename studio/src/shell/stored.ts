// Settings kept in the browser. Where storage is full or forbidden they last as long as the page.

const kept = new Map<string, string>();

export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key) ?? kept.get(key) ?? null;
  } catch {
    return kept.get(key) ?? null;
  }
}

/** Returns whether the value survives the page. */
export function store(key: string, value: string): boolean {
  kept.set(key, value);
  try {
    localStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

export function removeStored(key: string): void {
  kept.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing was kept there.
  }
}

/** All keys that start with `prefix`. */
export function storedKeys(prefix: string): string[] {
  const found = new Set([...kept.keys()]);
  try {
    for (let at = 0; at < localStorage.length; at++) found.add(localStorage.key(at) ?? "");
  } catch {
    // Only what this page kept is known.
  }
  return [...found].filter((key) => key.startsWith(prefix));
}
