// The badges of a node: what is special about it, from the notes of its graph. Pure.
import type { GraphNode } from "../api/types";
import type { IconName } from "../ui/icon";

export type Badge = { icon: IconName; words: string };

/** The notes that the graph gives, by their first words. */
const BADGES: { starts: string; icon: IconName; words: (note: string) => string }[] = [
  { starts: "asks first", icon: "approval", words: () => "requires approval" },
  { starts: "requires approval", icon: "approval", words: () => "requires approval" },
  { starts: "for each item", icon: "layers", words: () => "once for each item" },
  { starts: "retries", icon: "retry", words: (note) => note },
  { starts: "waits for all", icon: "merge", words: () => "waits for all inputs" },
  { starts: "timeout", icon: "timer", words: (note) => note },
];

export function badgesOf(node: GraphNode): Badge[] {
  return node.notes.flatMap((note) => {
    const known = BADGES.find((one) => note.startsWith(one.starts));
    return known ? [{ icon: known.icon, words: known.words(note) }] : [];
  });
}

/** A note in the words of the page. */
export function noteWords(note: string): string {
  const known = BADGES.find((one) => note.startsWith(one.starts));
  return known ? known.words(note) : note;
}
