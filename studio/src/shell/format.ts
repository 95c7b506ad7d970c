// Formats times, durations and counts, the same everywhere.

/** A short form of a duration. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "…";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** A time in the local time zone. */
export function moment(ms: number | undefined | null): string {
  if (!ms) return "";
  return new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function count(number: number, word: string): string {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}
