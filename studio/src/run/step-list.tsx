// A virtualised list of the steps.
import { useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { statusLook } from "../graph/node-statuses";
import { duration } from "../shell/format";
import { Icon } from "../ui/icon";
import { rowOf, nodeOf, statusOf, stepOf, type Steps } from "./steps";

const ROW = 26;
const SPARE = 8;

export function StepList({ steps, chosen, onChoose }: { steps: Steps; chosen?: number; onChoose: (step: number) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const high = frame.current?.clientHeight ?? 240;
  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const shown = steps.rows.slice(first, Math.ceil((top + high) / ROW) + SPARE);
  const here = chosen === undefined ? -1 : rowOf(steps.rows, chosen);

  const choose = (index: number) => {
    const row = steps.rows[Math.min(Math.max(0, index), steps.rows.length - 1)];
    if (row) onChoose(stepOf(row));
  };
  // Scrolls to the selected step, wherever it was selected.
  useLayoutEffect(() => {
    const on = frame.current;
    if (!on || here < 0) return;
    const y = here * ROW;
    if (y < on.scrollTop) on.scrollTop = y;
    else if (y + ROW > on.scrollTop + on.clientHeight) on.scrollTop = y + ROW - on.clientHeight;
    setTop(on.scrollTop);
  }, [here]);
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(high / ROW) - 1);
    const leads: { [key: string]: number } = {
      ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + page, PageUp: here - page, Home: 0, End: steps.rows.length - 1,
    };
    const next = leads[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  };

  return (
    <div
      className="step-list"
      role="listbox"
      aria-label="Steps"
      aria-activedescendant={here >= first && here < first + shown.length ? `step-${chosen}` : undefined}
      tabIndex={0}
      ref={frame}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: steps.rows.length * ROW, position: "relative" }}>
        {shown.map((row, index) => {
          const look = statusLook(statusOf(row));
          const step = stepOf(row);
          return (
            <div
              key={step}
              id={`step-${step}`}
              role="option"
              aria-selected={step === chosen}
              aria-posinset={first + index + 1}
              aria-setsize={steps.rows.length}
              className="step-row"
              data-status={statusOf(row)}
              style={{ top: (first + index) * ROW, height: ROW }}
              onClick={() => onChoose(step)}
            >
              <span className="quiet">{step}</span>
              <span>{nodeOf(steps, row)}</span>
              <span className="state">
                <Icon name={look.icon} size={13} /> {look.word}
              </span>
              <span className="quiet">{row[4] === null ? "—" : duration(row[4])}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
