// How the states of a node are told apart: by a sign, a word and a pattern, and then by colour.
import type { NodeStatus } from "../api/types";

export type StateLook = { word: string; sign: string; /** Dashes of the outline. */ dash?: string; hatched?: boolean };

export const STATES: { [status in NodeStatus]: StateLook } = {
  idle: { word: "not yet", sign: "" },
  running: { word: "running", sign: "▸", dash: "8 4" },
  waiting: { word: "waiting", sign: "‖", dash: "2 4" },
  retrying: { word: "trying again", sign: "↻", dash: "10 3 2 3" },
  succeeded: { word: "done", sign: "✓" },
  failed: { word: "failed", sign: "✕", hatched: true },
  skipped: { word: "skipped", sign: "⊘", dash: "1 5" },
};

export function stateLook(status: string | undefined): StateLook {
  return (STATES as { [status: string]: StateLook | undefined })[status ?? "idle"] ?? STATES.idle;
}
