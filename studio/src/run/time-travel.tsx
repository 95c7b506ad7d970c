// Time travel: a slider over the journal of a run. The server computes the state.
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { RunSnapshot, Graph } from "../api/types";
import { moment } from "../shell/format";
import { Icon } from "../ui/icon";
import { stateAt, type RunState } from "./fold";

/** How long the slider must rest before the server is asked. */
const REST_MS = 80;
/** The maximum number of steps in which the whole journal is played. */
const PLAYED_MAX = 120;
const PLAY_MS = 250;

export type PastState = { at: RunSnapshot; state: RunState; graph?: Graph };

/** The state of the run at `seq`; undefined for the present. */
export function usePastState(run: string, seq: number | undefined, amended: boolean): { past?: PastState; wrong?: Error } {
  const [past, setPast] = useState<PastState>();
  const [wrong, setWrong] = useState<Error>();
  const begun = useRef(false);
  useEffect(() => {
    if (seq === undefined) {
      setPast(undefined);
      begun.current = false;
      return;
    }
    const stop = new AbortController();
    const ask = async () => {
      const [at, graph] = await Promise.all([api.snapshot(run, seq, stop.signal), amended ? api.graph(run, seq) : undefined]);
      if (stop.signal.aborted) return;
      setWrong(undefined);
      setPast({ at, state: stateAt(at), graph });
    };
    // The first position is fetched at once, the others when the slider rests.
    const timer = setTimeout(() => void ask().catch((caught: Error) => !stop.signal.aborted && setWrong(caught)), begun.current ? REST_MS : 0);
    begun.current = true;
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [run, seq, amended]);
  return { past, wrong };
}

type Props = { seq: number | undefined; last: number; past?: PastState; /** Whether the run is still going. */ live: boolean; onSeq: (seq: number | undefined) => void };

export function TimeTravel({ seq, last, past, live, onSeq }: Props) {
  const [playing, setPlaying] = useState(false);
  const here = seq ?? last;
  useEffect(() => {
    if (!playing) return;
    const stride = Math.max(1, Math.ceil(last / PLAYED_MAX));
    const timer = setTimeout(() => {
      if (here + stride >= last) {
        setPlaying(false);
        onSeq(undefined);
      } else onSeq(here + stride);
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, here, last, onSeq]);
  const play = () => {
    if (!playing && here >= last) onSeq(1);
    setPlaying(!playing);
  };
  return (
    <div className="travel" role="group" aria-label="Time travel">
      <button type="button" aria-pressed={playing} onClick={play}>
        <Icon name={playing ? "pause" : "play"} /> {playing ? "Stop playback" : "Play"}
      </button>
      <button type="button" aria-label="One event back" disabled={here <= 1} onClick={() => onSeq(Math.max(1, here - 1))}>
        <Icon name="left" />
      </button>
      <input
        type="range"
        aria-label="Position in the journal"
        aria-valuetext={`event ${here} of ${last}${past && seq !== undefined ? `, ${past.at.event.replace(/_/g, " ")}` : ""}`}
        min={1}
        max={Math.max(1, last)}
        value={here}
        onChange={(event) => onSeq(Number(event.target.value))}
      />
      <button type="button" aria-label="One event forward" disabled={here >= last} onClick={() => onSeq(here + 1 >= last ? undefined : here + 1)}>
        <Icon name="right" />
      </button>
      <button type="button" aria-pressed={seq === undefined} onClick={() => onSeq(undefined)}>
        {live ? "Live" : "End"}
      </button>
      <span className="quiet travel-words" data-testid="travel">
        {seq === undefined ? `event ${last} of ${last}` : `event ${here} of ${last}${past ? ` · ${past.at.event.replace(/_/g, " ")} · ${moment(past.at.at_ms)}` : ""}`}
      </span>
    </div>
  );
}

/** Says that everything on the page is of an earlier moment. */
export function PastBanner({ seq, last, past, onNow }: { seq: number; last: number; past?: PastState; onNow: () => void }) {
  return (
    <div className="past-banner" role="status">
      <Icon name="clock" />
      <span>
        <strong>
          Viewing event {seq} of {last}
        </strong>
        {past && ` · ${past.at.event.replace(/_/g, " ")} · ${moment(past.at.at_ms)}`}. Everything on this page is as it was then.
      </span>
      <button type="button" onClick={onNow}>
        Back to now
      </button>
    </div>
  );
}
