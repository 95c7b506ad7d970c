// The look of each node status: an icon, a word and a pattern, in addition to the colour.
import type { NodeStatus } from "../api/types";
import type { IconName } from "../ui/icon";

export type StatusLook = {
  word: string;
  /** For text and for files that have no icons. */
  sign: string;
  icon: IconName;
  /** Dashes of the outline. */
  dash?: string;
  hatched?: boolean;
  /** Whether the word is shown beside the icon, because something is expected of the reader. */
  said?: boolean;
};

export const STATUS_LOOKS: { [status in NodeStatus]: StatusLook } = {
  idle: { word: "pending", sign: "", icon: "idle" },
  starting: { word: "starting its server", sign: "◌", icon: "hourglass", dash: "4 4", said: true },
  running: { word: "running", sign: "▸", icon: "play", dash: "8 4" },
  waiting: { word: "waiting", sign: "◔", icon: "timer", dash: "2 4", said: true },
  asking: { word: "waiting for you", sign: "‖", icon: "person", dash: "2 4", said: true },
  retrying: { word: "retrying", sign: "↻", icon: "retry", dash: "10 3 2 3", said: true },
  succeeded: { word: "done", sign: "✓", icon: "check" },
  failed: { word: "failed", sign: "✕", icon: "close", hatched: true, said: true },
  rejected: { word: "rejected", sign: "⊘", icon: "ban", hatched: true, said: true },
  stopped: { word: "stopped", sign: "■", icon: "stopped", dash: "6 3", said: true },
  skipped: { word: "not taken", sign: "○", icon: "skipped", dash: "1 5" },
};

export function statusLook(status: string | undefined): StatusLook {
  return (STATUS_LOOKS as { [status: string]: StatusLook | undefined })[status ?? "idle"] ?? STATUS_LOOKS.idle;
}
