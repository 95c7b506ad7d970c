// The look of each node status: a sign, a word and a pattern, in addition to the colour.
import type { NodeStatus } from "../api/types";

export type StatusLook = { word: string; sign: string; /** Dashes of the outline. */ dash?: string; hatched?: boolean };

export const STATUS_LOOKS: { [status in NodeStatus]: StatusLook } = {
  idle: { word: "pending", sign: "" },
  running: { word: "running", sign: "▸", dash: "8 4" },
  waiting: { word: "waiting", sign: "‖", dash: "2 4" },
  retrying: { word: "retrying", sign: "↻", dash: "10 3 2 3" },
  succeeded: { word: "done", sign: "✓" },
  failed: { word: "failed", sign: "✕", hatched: true },
  skipped: { word: "skipped", sign: "⊘", dash: "1 5" },
};

export function statusLook(status: string | undefined): StatusLook {
  return (STATUS_LOOKS as { [status: string]: StatusLook | undefined })[status ?? "idle"] ?? STATUS_LOOKS.idle;
}
