// A server wants a token: it is asked for here, once for each tab.
import { useSyncExternalStore, useState } from "react";
import { addressRefusal, askForAddress, keep, onToken, tokenWanted } from "../api/token";

export function TokenPrompt() {
  const wanted = useSyncExternalStore(onToken, tokenWanted);
  const [given, setGiven] = useState("");
  const [where, setWhere] = useState<string>();
  if (wanted === "not") return null;
  const refusal = where ?? addressRefusal();
  return (
    <form
      className="door"
      onSubmit={(event) => {
        event.preventDefault();
        keep(given.trim());
        setGiven("");
        setWhere(undefined);
      }}
    >
      <h2>This page has no key</h2>
      <p>Open the address that the server prints in its terminal, which works once, or give a token that the operator has set up.</p>
      {refusal && <p role="alert">{sentence(refusal)}</p>}
      {wanted === "again" && <p role="alert">The token that was given is not the one.</p>}
      <label>
        Token
        <input type="password" autoComplete="off" required value={given} onChange={(event) => setGiven(event.target.value)} />
      </label>
      <button type="submit">Open</button>
      <button type="button" onClick={() => void askForAddress().then(setWhere)}>
        Print a new address
      </button>
    </form>
  );
}

/** The server's words as a sentence. */
function sentence(said: string): string {
  return said.charAt(0).toUpperCase() + said.slice(1) + (said.endsWith(".") ? "" : ".");
}
