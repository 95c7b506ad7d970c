// A document: its text and its graphs side by side.
import { useRef, useState } from "react";
import { api } from "../api/client";
import type { DocumentText } from "../api/types";
import { EditorPage } from "../editor/page";
import { Show, useLoad } from "../shell/load";

export default function DocumentPage({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const loaded = useLoad(async () => ({ turn, document: await api.document(id) }), [id, turn]);
  // What is being edited is replaced only when that is asked for, whatever else loads anew.
  const open = useRef<{ turn: number; document: DocumentText }>(undefined);
  if (loaded.value && loaded.value.turn !== open.current?.turn) open.current = loaded.value;
  return (
    <Show from={loaded}>
      {(found) => <EditorPage key={(open.current ?? found).turn} document={(open.current ?? found).document} onReload={() => setTurn(turn + 1)} />}
    </Show>
  );
}
