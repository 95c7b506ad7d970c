// All keys on one page.
import { Fragment } from "react";
import { Dialog } from "../ui/dialog";
import { GO } from "./shortcuts";

const GROUPS: { name: string; keys: [string[], string][] }[] = [
  { name: "Everywhere", keys: [[["Ctrl", "K"], "Search and commands"], [["?"], "This list"], ...Object.entries(GO).map(([key, { word }]) => [["g", key], word] as [string[], string])] },
  {
    name: "In a graph",
    keys: [
      [["←", "↑", "→", "↓"], "Along the edges and to neighbouring nodes"], [["Enter"], "Open the node in the side panel"], [["/"], "Find a node"], [["b"], "Set or remove a breakpoint"], [["f"], "Fold or unfold a group"],
      [["+", "−"], "Zoom"], [["0"], "Show all"], [["1"], "Readable size"], [["Esc"], "Clear the selection"], [["Del"], "Remove the node (editor)"],
    ],
  },
  { name: "On the timeline", keys: [[["←", "→"], "From step to step"], [["Home", "End"], "First and last step"], [["+", "−", "0"], "Zoom"]] },
  { name: "In the editor", keys: [[["Ctrl", "S"], "Save"], [["Ctrl", "Z"], "Undo"], [["Ctrl", "Space"], "Complete"], [["F8"], "Next problem"], [["Ctrl", "F"], "Find in the text"]] },
];

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts">
      <dl className="keys">
        {GROUPS.map((group) => (
          <Fragment key={group.name}>
            <div style={{ display: "contents" }}>
              <dt className="keys-group">{group.name}</dt>
              <dd className="unseen">keys</dd>
            </div>
            {group.keys.map(([keys, words]) => (
              <div key={words} style={{ display: "contents" }}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key} className="kbd">
                      {key}
                    </kbd>
                  ))}
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
