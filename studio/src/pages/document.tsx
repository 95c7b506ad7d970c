// A document: its text and its graphs side by side.
import { api } from "../api/client";
import { EditorPage } from "../editor/page";
import { Show, useLoad } from "../shell/load";

export default function DocumentPage({ id }: { id: string }) {
  const document = useLoad(() => api.document(id), [id]);
  return <Show from={document}>{(found) => <EditorPage key={found.hash} document={found} onReload={document.again} />}</Show>;
}
