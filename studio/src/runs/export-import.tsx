// Export and import of a run as one file.
import { useRef, useState } from "react";
import { api } from "../api/client";
import { to, useRouter } from "../router";
import { download } from "../shell/download";
import { Icon } from "../ui/icon";

/** Larger files, in bytes, are rejected before they are read: the server accepts no more. */
const BYTES_MAX = 16 << 20;

/** Saves a run as a file. */
export async function exportRun(run: string): Promise<void> {
  download(`${run}.run.json`, await api.exportRun(run));
}

export function ImportRun({ onWrong }: { onWrong: (wrong: Error) => void }) {
  const { go } = useRouter();
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const bring = async (file: File) => {
    setBusy(true);
    try {
      if (file.size > BYTES_MAX) throw new Error(`${file.name} is larger than ${BYTES_MAX >> 20} MB`);
      const { run_id } = await api.importRun(await file.text());
      go(to("runs", run_id));
    } catch (caught) {
      onWrong(caught as Error);
      setBusy(false);
    }
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".json,.jsonl,application/json"
        className="unseen"
        aria-label="Run file"
        tabIndex={-1}
        onChange={(event) => {
          const file = event.target.files?.[0];
          if (file) void bring(file);
          event.target.value = "";
        }}
      />
      <button type="button" disabled={busy} onClick={() => input.current?.click()}>
        <Icon name="download" /> Import a run…
      </button>
    </>
  );
}
