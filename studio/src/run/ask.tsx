// Where a run is shown its questions are answered as they are in the inbox.
export { Ask } from "../inbox/ask";
