// The current state of a run: loaded once, then updated by its events.
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { follow } from "../api/events";
import { onReturn } from "../api/connection";
import { onToken } from "../api/token";
import type { Graph, Run, RunEvent } from "../api/types";
import { useInterval } from "../shell/use-interval";
import { fold, eventName, initialState, stateAt, type RunState } from "./fold";

export type LiveRun = {
  run?: Run;
  graph?: Graph;
  state: RunState;
  /** Whether the event stream is connected. */
  linked: boolean;
  wrong?: Error;
  /** Fetches the state of the run again. */
  refresh: () => void;
};

/** The run is fetched after this long without an event. */
const SETTLE_MS = 120;
/** How often a run that is not over is looked at besides its events. */
const LOOK_MS = 2_000;
/** Events that change the server's view of the run. */
const STATE_EVENTS = new Set(["paused", "answered", "finished", "amended", "watched", "resumed"]);

export function useLiveRun(id: string): LiveRun {
  const [run, setRun] = useState<Run>();
  const [graph, setGraph] = useState<Graph>();
  const [state, setState] = useState<RunState>(initialState);
  const [linked, setLinked] = useState(true);
  const [wrong, setWrong] = useState<Error>();
  const [turn, setTurn] = useState(0);
  const shown = useRef<Graph>(undefined);

  const refresh = useCallback(() => {
    void api.run(id).then(setRun, setWrong);
  }, [id]);

  useEffect(() => onToken(() => setTurn((now) => now + 1)), []);
  useEffect(() => onReturn(() => setTurn((now) => now + 1)), []);
  // Only the server knows that the process of a run died: no event says so.
  const going = run !== undefined && (run.outcome === null || run.outcome === undefined);
  useInterval(LOOK_MS, going ? () => void api.run(id).then(setRun, () => {}) : undefined);

  useEffect(() => {
    let over = false;
    let stop = () => {};
    const waiting: RunEvent[] = [];
    let frame = 0;
    let settle: ReturnType<typeof setTimeout> | undefined;
    let state = initialState;
    /** Whether the state has to be fetched from the server. */
    let whole = false;
    let isOver = false;

    const look = async (all: boolean) => {
      const now = await api.run(id);
      if (over) return;
      setRun(now);
      if (!all) return;
      isOver = now.outcome !== null && now.outcome !== undefined;
      const [drawn, at] = await Promise.all([api.graph(id), api.snapshot(id, now.events)]);
      if (over) return;
      shown.current = drawn;
      setGraph(drawn);
      // Events that arrived meanwhile are newer than the response.
      if (at.seq >= state.seq) state = { ...stateAt(at), open: state.open };
      setState(state);
      return at.seq;
    };
    const flush = () => {
      frame = 0;
      const events = waiting.splice(0);
      const drawn = shown.current;
      if (drawn) {
        state = fold(state, events, drawn);
        setState(state);
      }
      const telling = events.map(eventName).filter((name) => STATE_EVENTS.has(name));
      whole ||= state.unsure === true || telling.includes("amended") || telling.includes("finished");
      if (!telling.length && !whole) return;
      clearTimeout(settle);
      settle = setTimeout(() => {
        const all = whole;
        whole = false;
        look(all).catch(setWrong);
      }, SETTLE_MS);
    };
    const begin = async () => {
      const seen = (await look(true)) ?? 0;
      if (over) return;
      setWrong(undefined);
      if (isOver) return;
      stop = follow(id, seen, {
        onEvent: (event) => {
          waiting.push(event);
          if (!frame) frame = requestAnimationFrame(flush);
        },
        onLink: setLinked,
        onWrong: setWrong,
      });
    };
    begin().catch((caught: Error) => !over && setWrong(caught));
    return () => {
      over = true;
      stop();
      cancelAnimationFrame(frame);
      clearTimeout(settle);
    };
  }, [id, turn]);

  return { run, graph, state, linked, wrong, refresh };
}
