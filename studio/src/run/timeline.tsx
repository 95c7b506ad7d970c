// The timeline of a run: every step as a bar in the row of its node, with idle time collapsed.
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useTheme } from "../shell/theme";
import { count } from "../shell/format";
import { Icon } from "../ui/icon";
import { axisOf, positionOf } from "./time-axis";
import { NAMES_WIDTH, paint, ROW_HEIGHT, timelineScene, stepPosition, stepAt, type Ink, type View } from "./timeline-canvas";
import { ASK_STEP, rowOf, durationOf, startOf, stepOf, type Steps } from "./steps";

type Props = {
  steps: Steps;
  chosen?: number;
  onChoose: (step: number) => void;
  /** Nodes that only wait. */
  idle?: ReadonlySet<string>;
  /** The current time while something is open. */
  now_ms: number;
  /** The selected time, during time travel. */
  at_ms?: number;
};

const INKS = { panel: "--panel", ink: "--ink", quiet: "--quiet", soft: "--soft", focus: "--focus", idle: "--off", running: "--busy", succeeded: "--ok", failed: "--bad", retrying: "--hold", waiting: "--k-wait", asking: "--hold", skipped: "--off" };

/** The steps that count as the latest ones. */
const LATEST = 8;

function inks(): Ink {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(Object.entries(INKS).map(([name, variable]) => [name, style.getPropertyValue(variable).trim()]));
}

export function Timeline({ steps, chosen, onChoose, idle, now_ms, at_ms }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [byOrder, setByOrder] = useState(false);
  const [cut, setCut] = useState(true);
  const [size, setSize] = useState({ width: 800, height: 180 });
  const [zoom, setZoom] = useState<View>();
  const { shown } = useTheme();

  const drawn = useMemo(() => {
    const waits = steps.nodes.map((node) => idle?.has(node) ?? false);
    const all = steps.rows.map((row) => ({ start: startOf(row), long: durationOf(row, now_ms), waits: (waits[row[1]] ?? false) || stepOf(row) === ASK_STEP }));
    return timelineScene(steps, axisOf(all, cut), byOrder, now_ms);
  }, [steps, idle, byOrder, cut, now_ms]);
  // While a run is going, the rows of its latest steps are in view.
  const lowest = Math.max(-1, ...steps.rows.slice(-LATEST).map((row) => row[1]));
  const bottom = now_ms > 0 ? Math.max(0, (lowest + 1) * ROW_HEIGHT + 30 - size.height) : 0;
  const whole: View = useMemo(() => ({ from: 0, to: drawn.axis.length, top: bottom }), [drawn, bottom]);
  const view = zoom ?? whole;

  useEffect(() => setZoom(undefined), [byOrder, cut]);
  useEffect(() => {
    const frame = canvas.current?.parentElement;
    if (!frame) return;
    const watch = new ResizeObserver(() => setSize({ width: frame.clientWidth, height: frame.clientHeight }));
    watch.observe(frame);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const on = canvas.current?.getContext("2d");
    if (!on || !canvas.current) return;
    const fine = devicePixelRatio || 1;
    canvas.current.width = size.width * fine;
    canvas.current.height = size.height * fine;
    on.setTransform(fine, 0, 0, fine, 0, 0);
    const now = at_ms !== undefined && !byOrder ? positionOf(drawn.axis, at_ms) : undefined;
    canvas.current.dataset["bars"] = String(paint(on, drawn, view, size.width, size.height, inks(), chosen, now));
  }, [drawn, view, size, chosen, shown, at_ms, byOrder]);

  const zoomBy = (factor: number, around = (view.from + view.to) / 2) => {
    const long = Math.min(whole.to, Math.max((view.to - view.from) * factor, whole.to / 1e6));
    const from = Math.min(Math.max(0, around - (around - view.from) * (long / (view.to - view.from))), whole.to - long);
    setZoom({ ...view, from, to: from + long });
  };
  const move = (by: number, down: number) => {
    const long = view.to - view.from;
    const from = Math.min(Math.max(0, view.from + by), whole.to - long);
    const most = Math.max(0, steps.nodes.length * ROW_HEIGHT + 30 - size.height);
    setZoom({ from, to: from + long, top: Math.min(most, Math.max(0, view.top + down)) });
  };
  const last = steps.rows[steps.rows.length - 1];
  const real = steps.rows.length - (last && stepOf(last) === ASK_STEP ? steps.rows.filter((row) => stepOf(row) === ASK_STEP).length : 0);
  const perPixel = (view.to - view.from) / Math.max(1, size.width - NAMES_WIDTH);

  useEffect(() => {
    const on = canvas.current;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey || (!event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX) && steps.nodes.length * ROW_HEIGHT < size.height)) {
        zoomBy(Math.exp(event.deltaY / 400), view.from + (event.offsetX - NAMES_WIDTH) * perPixel);
      } else move((event.shiftKey ? event.deltaY : event.deltaX) * perPixel, event.shiftKey ? 0 : event.deltaY);
    };
    on?.addEventListener("wheel", wheel, { passive: false });
    return () => on?.removeEventListener("wheel", wheel);
  });

  const drag = useRef<{ x: number; y: number; moved: boolean }>(undefined);
  const onPointer = {
    onPointerDown: (event: PointerEvent) => {
      drag.current = { x: event.clientX, y: event.clientY, moved: false };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const from = drag.current;
      if (!from) return;
      const [x, y] = [from.x - event.clientX, from.y - event.clientY];
      if (!from.moved && Math.abs(x) + Math.abs(y) < 4) return;
      move(x * perPixel, y);
      drag.current = { x: event.clientX, y: event.clientY, moved: true };
    },
    onPointerUp: (event: PointerEvent<HTMLCanvasElement>) => {
      const box = event.currentTarget.getBoundingClientRect();
      const step = stepAt(drawn, view, size.width, event.clientX - box.left, event.clientY - box.top);
      if (!drag.current?.moved && step !== undefined) onChoose(step);
      drag.current = undefined;
    },
  };

  const choose = (index: number) => {
    const row = steps.rows[Math.min(Math.max(0, index), steps.rows.length - 1)];
    if (!row) return;
    onChoose(stepOf(row));
    const where = stepPosition(drawn, stepOf(row));
    if (where && (where.begin < view.from || where.begin > view.to)) move(where.begin - (view.from + view.to) / 2, 0);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = chosen === undefined ? -1 : rowOf(steps.rows, chosen);
    if (event.key === "ArrowRight") choose(here + 1);
    else if (event.key === "ArrowLeft") choose(Math.max(0, here - 1));
    else if (event.key === "Home") choose(0);
    else if (event.key === "End") choose(steps.rows.length - 1);
    else if (event.key === "+" || event.key === "=") zoomBy(0.6);
    else if (event.key === "-") zoomBy(1.6);
    else if (event.key === "0") setZoom(undefined);
    else return;
    event.preventDefault();
  };

  return (
    <div className="timeline">
      <div className="row timeline-bar">
        <span className="quiet">{count(real, "step")}</span>
        <label>
          <input type="checkbox" checked={cut} disabled={byOrder} onChange={(event) => setCut(event.target.checked)} /> cut idle time
        </label>
        <label>
          <input type="checkbox" checked={byOrder} onChange={(event) => setByOrder(event.target.checked)} /> by order
        </label>
        <button type="button" className="btn" data-small data-bare aria-label="Zoom into the timeline" onClick={() => zoomBy(0.6)}><Icon name="in" size={15} /></button>
        <button type="button" className="btn" data-small data-bare aria-label="Zoom out of the timeline" onClick={() => zoomBy(1.6)}><Icon name="out" size={15} /></button>
        <button type="button" className="btn" data-small data-bare aria-label="Show the whole timeline" onClick={() => setZoom(undefined)}><Icon name="fit" size={15} /></button>
      </div>
      <div className="timeline-frame">
        <canvas
          ref={canvas}
          role="application"
          aria-roledescription="timeline"
          aria-label={`${count(real, "step")} on a timeline. Arrow keys go from step to step.`}
          tabIndex={0}
          style={{ width: size.width, height: size.height }}
          onKeyDown={onKeyDown}
          {...onPointer}
        />
      </div>
    </div>
  );
}
