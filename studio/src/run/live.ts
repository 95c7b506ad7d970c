// A run as it is now: loaded once, then kept up with by its events.
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import { follow } from "../api/events";
import { onToken } from "../api/token";
import type { Graph, Run, RunEvent } from "../api/types";
import { fold, named, nothing, stoodAt, type Stood } from "./fold";

export type Live = {
  run?: Run;
  graph?: Graph;
  stood: Stood;
  /** Whether the stream of events is up. */
  linked: boolean;
  wrong?: Error;
  /** Asks anew how the run stands. */
  refresh: () => void;
};

/** After so long without a further event the run is asked how it stands. */
const SETTLE_MS = 120;
/** Events after which what the server says of the run is different. */
const TELLING = new Set(["paused", "answered", "finished", "amended", "watched", "resumed"]);

export function useLive(id: string): Live {
  const [run, setRun] = useState<Run>();
  const [graph, setGraph] = useState<Graph>();
  const [stood, setStood] = useState<Stood>(nothing);
  const [linked, setLinked] = useState(true);
  const [wrong, setWrong] = useState<Error>();
  const [turn, setTurn] = useState(0);
  const shown = useRef<Graph>(undefined);

  const refresh = useCallback(() => {
    void api.run(id).then(setRun, setWrong);
  }, [id]);

  useEffect(() => onToken(() => setTurn((now) => now + 1)), []);

  useEffect(() => {
    let over = false;
    let stop = () => {};
    const waiting: RunEvent[] = [];
    let frame = 0;
    let settle: ReturnType<typeof setTimeout> | undefined;
    let stood = nothing;
    /** Whether the server has to be asked how it stands. */
    let whole = false;
    let isOver = false;

    const look = async (all: boolean) => {
      const now = await api.run(id);
      if (over) return;
      setRun(now);
      if (!all) return;
      isOver = now.outcome !== null && now.outcome !== undefined;
      const [drawn, at] = await Promise.all([api.graph(id), api.at(id, now.events)]);
      if (over) return;
      shown.current = drawn;
      setGraph(drawn);
      // Events that came meanwhile are ahead of what was asked for.
      if (at.seq >= stood.seq) stood = { ...stoodAt(at), open: stood.open };
      setStood(stood);
      return at.seq;
    };
    const flush = () => {
      frame = 0;
      const events = waiting.splice(0);
      const drawn = shown.current;
      if (drawn) {
        stood = fold(stood, events, drawn);
        setStood(stood);
      }
      const telling = events.map(named).filter((name) => TELLING.has(name));
      whole ||= stood.unsure === true || telling.includes("amended") || telling.includes("finished");
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

  return { run, graph, stood, linked, wrong, refresh };
}
