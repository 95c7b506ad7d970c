// What the server said of an input, at the fields that it speaks of.

export type Said = { /** By JSON pointer. */ fields: { [pointer: string]: string }; /** What belongs to no field. */ rest: string[] };

const OPENS = /^the input does not fit the schema of `[^`]*`: /;
const MISSING = /^`([^`]+)` is missing/;

/** Takes a refusal apart. Each part is `/pointer: message`, or a message about the whole. */
export function placed(message: string): Said {
  const said: Said = { fields: {}, rest: [] };
  if (!OPENS.test(message)) return { fields: {}, rest: [message] };
  for (const part of parts(message.replace(OPENS, ""))) {
    const [, pointer = "", what = part] = /^(\/\S*?): ([\s\S]*)$/.exec(part) ?? [];
    const missing = MISSING.exec(what)?.[1];
    const at = missing === undefined ? pointer : `${pointer}/${missing.replace(/~/g, "~0").replace(/\//g, "~1")}`;
    const words = missing === undefined ? what : "is needed";
    if (at === "") said.rest.push(what);
    else said.fields[at] = said.fields[at] ? `${said.fields[at]}; ${words}` : words;
  }
  return said;
}

/** Splits where a new flaw begins; a message may hold the sign that parts them. */
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
export function inside(pointer: string, name: string | number): string {
  return `${pointer}/${String(name).replace(/~/g, "~0").replace(/\//g, "~1")}`;
}

/** Which of the places that were spoken of have a field: those beyond are told with the rest. */
export function unplaced(said: Said, shown: ReadonlySet<string>): string[] {
  const lost = Object.entries(said.fields).filter(([pointer]) => !shown.has(pointer));
  return [...said.rest, ...lost.map(([pointer, what]) => `${pointer}: ${what}`)];
}
