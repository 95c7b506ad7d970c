// A document: its text and its graphs side by side.
import { useRef, useState } from "react";
import { api } from "../api/client";
import type { DocumentText } from "../api/types";
import { EditorPage } from "../editor/page";
import { LoadView, useLoad } from "../shell/load";

export default function DocumentPage({ id }: { id: string }) {
  const [turn, setTurn] = useState(0);
  const loaded = useLoad(async () => ({ turn, document: await api.document(id) }), [id, turn]);
  // The edited text is replaced only on request, whatever else is reloaded.
  const open = useRef<{ turn: number; document: DocumentText }>(undefined);
  if (loaded.value && loaded.value.turn !== open.current?.turn) open.current = loaded.value;
  return (
    <LoadView from={loaded}>
      {(found) => <EditorPage key={(open.current ?? found).turn} document={(open.current ?? found).document} onReload={() => setTurn(turn + 1)} />}
    </LoadView>
  );
}
