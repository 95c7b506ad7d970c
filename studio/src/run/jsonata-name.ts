// The output of a node in JSONata. Pure.

/** Names with characters that JSONata reads otherwise are quoted. */
export function nameInJsonata(node: string): string {
  return /^[A-Za-z_]\w*$/.test(node) ? node : `\`${node}\``;
}
