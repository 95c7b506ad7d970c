// JSONata for the text editor: highlighting, and the names of its functions for completion.
import { StreamLanguage } from "@codemirror/language";

/** The functions of the language, as `tramline eval` has them. */
export const FUNCTIONS = [
  "abs", "append", "assert", "average", "base64decode", "base64encode", "boolean", "ceil", "contains", "count", "decodeUrl", "decodeUrlComponent", "distinct", "each", "encodeUrl", "encodeUrlComponent",
  "error", "eval", "exists", "filter", "floor", "formatBase", "formatInteger", "formatNumber", "fromMillis", "join", "keys", "length", "lookup", "lowercase", "map", "match", "max", "merge", "millis",
  "min", "not", "now", "number", "pad", "parseInteger", "power", "random", "reduce", "replace", "reverse", "round", "shuffle", "sift", "single", "sort", "split", "spread", "sqrt", "string", "substring",
  "substringAfter", "substringBefore", "sum", "toMillis", "trim", "type", "uppercase", "zip",
].map((name) => `$${name}`);

const WORDS = /^(?:and|or|in|true|false|null|function)\b/;

export const jsonata = StreamLanguage.define<{ comment: boolean }>({
  name: "jsonata",
  startState: () => ({ comment: false }),
  token(stream, state) {
    if (state.comment || stream.match("/*")) {
      state.comment = !stream.match(/^.*?\*\//);
      if (state.comment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return "string";
    if (stream.match(/^`[^`]*`?/)) return "propertyName";
    if (stream.match(/^\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/)) return "number";
    if (stream.match(/^\$\w+(?=\s*\()/)) return "keyword";
    if (stream.match(/^\$\w*/)) return "labelName";
    if (stream.match(WORDS)) return "bool";
    if (stream.match(/^[A-Za-z_]\w*/)) return "propertyName";
    stream.next();
    return null;
  },
});
