// The status of a run, as an icon and words.
import { Chip } from "../ui/chip";
import { Icon, type IconName } from "../ui/icon";
import { runStatusLook, type StatusFacts } from "./run-status";

const ICONS: { [key: string]: IconName } = {
  running: "play", guided: "tasks", paused: "paused", completed: "done", "partly-failed": "warning", failed: "failed", rejected: "ban", aborted: "stop", expired: "hourglass", interrupted: "stopped",
};

export function StatusWord({ of }: { of: StatusFacts }) {
  const look = runStatusLook(of);
  return (
    <span className="status" data-status={look.key}>
      <Chip tone={look.tone} icon={ICONS[look.key] ?? "dot"}>
        {look.words}
      </Chip>
    </span>
  );
}

/** Only the icon, for dense lists; the words are read to screen readers. */
export function StatusIcon({ of }: { of: StatusFacts }) {
  const look = runStatusLook(of);
  return (
    <span className="tone" data-tone={look.tone} title={look.words}>
      <Icon name={ICONS[look.key] ?? "dot"} size={17} />
      <span className="unseen">{look.words}</span>
    </span>
  );
}
