// The status of a run, as a sign and a word.

const SIGNS: { [status: string]: string } = {
  running: "▸", paused: "‖", completed: "✓", failed: "✕", rejected: "⊘", aborted: "■", expired: "⌛", stalled: "!", waiting: "‖",
};

export function StatusWord({ status }: { status: string }) {
  return (
    <span className="status" data-status={status}>
      <span aria-hidden="true">{SIGNS[status] ?? "•"}</span> {status}
    </span>
  );
}
