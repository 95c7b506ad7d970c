// Asks for the token that a server requires, once per tab.
import { useSyncExternalStore, useState } from "react";
import { urlError, requestNewUrl, storeToken, onToken, tokenPromptState } from "../api/token";

export function TokenPrompt() {
  const wanted = useSyncExternalStore(onToken, tokenPromptState);
  const [given, setGiven] = useState("");
  const [where, setWhere] = useState<string>();
  if (wanted === "not") return null;
  const refusal = where ?? urlError();
  return (
    <form
      className="door"
      onSubmit={(event) => {
        event.preventDefault();
        storeToken(given.trim());
        setGiven("");
        setWhere(undefined);
      }}
    >
      <h2>This page has no key</h2>
      <p>Open the URL that the server prints in its terminal (it works once), or enter a token that the operator has configured.</p>
      {refusal && <p role="alert">{sentence(refusal)}</p>}
      {wanted === "again" && <p role="alert">This token is not valid.</p>}
      <label>
        Token
        <input type="password" autoComplete="off" required value={given} onChange={(event) => setGiven(event.target.value)} />
      </label>
      <button type="submit">Open</button>
      <button type="button" onClick={() => void requestNewUrl().then(setWhere)}>
        Print a new address
      </button>
    </form>
  );
}

/** The server's message as a sentence. */
function sentence(said: string): string {
  return said.charAt(0).toUpperCase() + said.slice(1) + (said.endsWith(".") ? "" : ".");
}
