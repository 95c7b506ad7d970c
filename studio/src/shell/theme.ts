// Dark or light: what the machine prefers, until somebody says otherwise.
import { useSyncExternalStore } from "react";

export type Theme = "auto" | "light" | "dark";
type Chosen = { theme: Theme; shown: "light" | "dark" };

const KEY = "tramline-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const heard = new Set<() => void>();
let now: Chosen = resolved(kept());

function kept(): Theme {
  const found = localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "auto";
}

function resolved(theme: Theme): Chosen {
  const shown = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset["theme"] = shown;
  return { theme, shown };
}

function update(): void {
  now = resolved(kept());
  for (const listener of heard) listener();
}

dark.addEventListener("change", update);

function listen(listener: () => void): () => void {
  heard.add(listener);
  return () => heard.delete(listener);
}

export function choose(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  update();
}

/** The theme that was chosen and what it comes to. */
export function useTheme(): Chosen {
  return useSyncExternalStore(listen, () => now);
}
