// Dark or light theme: the system's preference, unless the user chooses otherwise.
import { useSyncExternalStore } from "react";

export type Theme = "auto" | "light" | "dark";
type ThemeState = { theme: Theme; shown: "light" | "dark" };

const KEY = "tramline-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let now: ThemeState = resolved(storedTheme());

function storedTheme(): Theme {
  const found = localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "auto";
}

function resolved(theme: Theme): ThemeState {
  const shown = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset["theme"] = shown;
  return { theme, shown };
}

function update(): void {
  now = resolved(storedTheme());
  for (const listener of listeners) listener();
}

dark.addEventListener("change", update);

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  update();
}

/** The chosen theme and the resulting appearance. */
export function useTheme(): ThemeState {
  return useSyncExternalStore(listen, () => now);
}
