// The look of each node kind: shape, icon and word.
import type { NodeKind } from "../api/types";

type KindLook = { word: string; icon: string; outline: (width: number, height: number) => string; /** The colour variable. */ colour: string };

const box = (w: number, h: number) => `M6,0H${w - 6}Q${w},0 ${w},6V${h - 6}Q${w},${h} ${w - 6},${h}H6Q0,${h} 0,${h - 6}V6Q0,0 6,0Z`;
const stadium = (w: number, h: number) => `M${h / 2},0H${w - h / 2}A${h / 2},${h / 2} 0 0 1 ${w - h / 2},${h}H${h / 2}A${h / 2},${h / 2} 0 0 1 ${h / 2},0Z`;
const hexagon = (w: number, h: number) => `M18,0H${w - 18}L${w},${h / 2}L${w - 18},${h}H18L0,${h / 2}Z`;
const slanted = (w: number, h: number) => `M12,0H${w}L${w - 12},${h}H0Z`;
const octagon = (w: number, h: number) => `M16,0H${w - 16}L${w},16V${h - 16}L${w - 16},${h}H16L0,${h - 16}V16Z`;
const note = (w: number, h: number) => `M0,0H${w - 14}L${w},14V${h}H0Z`;
const flag = (w: number, h: number) => `M0,0H${w}L${w - 14},${h / 2}L${w},${h}H0Z`;

/** Icons are stroked paths on a 16 by 16 grid. */
const KIND_LOOKS: { [kind in NodeKind]: KindLook } = {
  entry: { word: "entry", icon: "M5 3l8 5-8 5z", outline: stadium, colour: "--k-flow" },
  exit: { word: "exit", icon: "M4 4h8v8H4z", outline: stadium, colour: "--k-flow" },
  call: { word: "call", icon: "M6 2v4M10 2v4M4 6h8v2a4 4 0 0 1-8 0zM8 12v3", outline: box, colour: "--k-call" },
  compute: { word: "compute", icon: "M11 3.5c-2-1-3 0-3.3 2L6.5 12c-.3 1.5-1.5 2-3 1.3M4.5 7.5h6", outline: slanted, colour: "--k-expr" },
  choose: { word: "choice", icon: "M8 14V9L3.5 4.5M8 9l4.5-4.5M3 8V4h4M13 8V4H9", outline: hexagon, colour: "--k-switch" },
  wait: { word: "wait", icon: "M4 2h8M4 14h8M5 2c0 3 6 3 6 6s-6 3-6 6M11 2c0 3-6 3-6 6s6 3 6 6", outline: flag, colour: "--k-wait" },
  ask: { word: "ask", icon: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.2 8 10M8 12.5v.5", outline: slanted, colour: "--k-ask" },
  prompt: { word: "instruction", icon: "M3 3h10v8H8l-3 3v-3H3z", outline: note, colour: "--k-ask" },
  decision: { word: "decision", icon: "M8 2l6 6-6 6-6-6z", outline: hexagon, colour: "--k-switch" },
  terminal: { word: "end", icon: "M4 4h8v8H4z", outline: stadium, colour: "--k-flow" },
  hub: { word: "hub", icon: "M8 8m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M8 1v4M8 11v4M1 8h4M11 8h4", outline: octagon, colour: "--k-flow" },
};

/** The look of a node kind; unknown kinds look like a call. */
export function kindLook(kind: string): KindLook {
  return (KIND_LOOKS as { [kind: string]: KindLook | undefined })[kind] ?? { ...KIND_LOOKS.call, word: kind };
}
