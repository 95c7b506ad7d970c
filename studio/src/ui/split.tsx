// Two panes with a border that can be dragged or moved by arrow keys; the size is remembered.
import { useCallback, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { readStored, store } from "../shell/stored";

type Props = {
  /** The name under which the size is remembered. */
  name: string;
  /** Whether the second pane is at the right or at the bottom. */
  side: "right" | "bottom";
  /** The accessible name of the border. */
  label: string;
  first: ReactNode;
  second: ReactNode;
  /** The initial, smallest and largest size of the second pane in pixels. */
  size: number;
  min: number;
  max: number;
};

const STEP = 24;

export function Split({ name, side, label, first, second, size, min, max }: Props) {
  const key = `tramline-pane-${name}`;
  const clamp = useCallback((value: number) => Math.round(Math.min(max, Math.max(min, value))), [min, max]);
  const [long, setLong] = useState(() => clamp(Number(readStored(key)) || size));
  const drag = useRef<{ at: number; long: number }>(undefined);
  const upright = side === "bottom";
  const set = (value: number) => {
    setLong(clamp(value));
    store(key, String(clamp(value)));
  };
  const at = (event: PointerEvent) => (upright ? event.clientY : event.clientX);
  const onKeyDown = (event: KeyboardEvent) => {
    const [more, less] = upright ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    if (event.key === more) set(long + STEP);
    else if (event.key === less) set(long - STEP);
    else if (event.key === "Home") set(max);
    else if (event.key === "End") set(min);
    else return;
    event.preventDefault();
  };
  const style = { "--second": `${long}px` } as React.CSSProperties;
  return (
    <div className="panes" data-side={side} style={style}>
      <div className="pane-first">{first}</div>
      <div
        className="pane-border"
        role="separator"
        aria-orientation={upright ? "horizontal" : "vertical"}
        aria-label={label}
        aria-valuenow={long}
        aria-valuemin={min}
        aria-valuemax={max}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onDoubleClick={() => set(size)}
        onPointerDown={(event) => {
          drag.current = { at: at(event), long };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => drag.current && setLong(clamp(drag.current.long + drag.current.at - at(event)))}
        onPointerUp={() => {
          drag.current = undefined;
          set(long);
        }}
      />
      <div className="pane-second">{second}</div>
    </div>
  );
}
