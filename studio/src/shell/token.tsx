// A server wants a token: it is asked for here, once for each tab.
import { useSyncExternalStore, useState } from "react";
import { keep, onToken, tokenWanted } from "../api/token";

export function TokenPrompt() {
  const wanted = useSyncExternalStore(onToken, tokenWanted);
  const [given, setGiven] = useState("");
  if (wanted === "not") return null;
  return (
    <form
      className="door"
      onSubmit={(event) => {
        event.preventDefault();
        keep(given.trim());
        setGiven("");
      }}
    >
      <h2>This server asks for a token</h2>
      <p>It stands where the server was started, or whoever runs it has one for you.</p>
      {wanted === "again" && <p role="alert">The token that was given is not the one.</p>}
      <label>
        Token
        <input type="password" autoComplete="off" required value={given} onChange={(event) => setGiven(event.target.value)} />
      </label>
      <button type="submit">Open</button>
    </form>
  );
}
