// Maps the server's messages about an input to the fields of the form.

export type ServerErrors = { /** By JSON pointer. */ fields: { [pointer: string]: string }; /** Messages without a field. */ rest: string[] };

const PREFIX = /^the input does not (?:fit|match) the schema of `[^`]*`: /;
const MISSING = /^`([^`]+)` is missing/;

/** Splits an error. Each part is `/pointer: message`, or a message about the whole input. */
export function parseErrors(message: string): ServerErrors {
  const said: ServerErrors = { fields: {}, rest: [] };
  if (!PREFIX.test(message)) return { fields: {}, rest: [message] };
  for (const part of parts(message.replace(PREFIX, ""))) {
    const [, pointer = "", what = part] = /^(\/\S*?): ([\s\S]*)$/.exec(part) ?? [];
    const missing = MISSING.exec(what)?.[1];
    const at = missing === undefined ? pointer : `${pointer}/${missing.replace(/~/g, "~0").replace(/\//g, "~1")}`;
    const words = missing === undefined ? what : "is required";
    if (at === "") said.rest.push(what);
    else said.fields[at] = said.fields[at] ? `${said.fields[at]}; ${words}` : words;
  }
  return said;
}

/** Splits where a new flaw starts; a message may contain the separator. */
function parts(message: string): string[] {
  const all: string[] = [];
  for (const part of message.split("; ")) {
    const begins = part.startsWith("/") || MISSING.test(part) || all.length === 0;
    if (begins) all.push(part);
    else all[all.length - 1] += `; ${part}`;
  }
  return all;
}

/** The pointer of a member. */
export function memberPointer(pointer: string, name: string | number): string {
  return `${pointer}/${String(name).replace(/~/g, "~0").replace(/\//g, "~1")}`;
}

/** Which of the mentioned positions have a field; messages about others are shown with the rest. */
export function errorsWithoutField(said: ServerErrors, shown: ReadonlySet<string>): string[] {
  const lost = Object.entries(said.fields).filter(([pointer]) => !shown.has(pointer));
  return [...said.rest, ...lost.map(([pointer, what]) => `${pointer}: ${what}`)];
}
