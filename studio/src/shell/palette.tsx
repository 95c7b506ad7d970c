// Ctrl+K: finds pages, workflows, documents, runs and commands by any part of their names.
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { api } from "../api/client";
import { to, useRouter } from "../router";
import { runStatusLook } from "../run/run-status";
import { Dialog } from "../ui/dialog";
import { Icon, type IconName } from "../ui/icon";
import { ago } from "./format";
import { useLoad } from "./load";
import { setDirection } from "../graph/direction";
import { setTheme } from "./theme";
import { GO } from "./shortcuts";

type Entry = { group: string; icon: IconName; words: string; hint?: string; /** Also found by this. */ more?: string; act: () => void };

/** The maximum number of matches shown. */
const SHOWN_MAX = 40;
const RUNS_MAX = 100;
const TYPING_MS = 150;

/** The position of a match: earlier and shorter is better; `undefined` if a word is missing. */
export function rank(entry: Pick<Entry, "words" | "hint" | "more">, text: string): number | undefined {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const name = entry.words.toLowerCase();
  const all = `${name} ${entry.hint ?? ""} ${entry.more ?? ""}`.toLowerCase();
  if (!words.every((word) => all.includes(word))) return undefined;
  const at = words.map((word) => (name.startsWith(word) ? 0 : name.includes(word) ? 1 : 2));
  return at.reduce<number>((sum, one) => sum + one * 100, 0) + name.length / 1_000;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const chosen = useRef<HTMLLIElement>(null);
  const entries = useEntries(text);
  const shown = useMemo(() => {
    const ranked = entries.map((entry) => ({ entry, rank: rank(entry, text) })).filter((one) => one.rank !== undefined);
    const sorted = text ? ranked.sort((a, b) => a.rank! - b.rank!) : ranked;
    return sorted.slice(0, SHOWN_MAX).map(({ entry }) => entry);
  }, [entries, text]);
  useEffect(() => setAt(0), [text]);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  const act = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.act();
  };
  return (
    <Dialog open onClose={onClose} title="Search" bare>
      <div className="palette-head">
        <Icon name="search" />
        <input
          autoFocus
          role="combobox"
          aria-label="Search"
          aria-expanded={shown.length > 0}
          aria-controls={list}
          aria-activedescendant={shown[at] ? `${list}-${at}` : undefined}
          placeholder="Runs, workflows, documents, commands…"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") act(shown[at]);
            else if (event.key === "ArrowDown") setAt(Math.min(at + 1, shown.length - 1));
            else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
            else return;
            event.preventDefault();
          }}
        />
        <kbd className="kbd">Esc</kbd>
      </div>
      <ul className="palette-list" id={list} role="listbox" aria-label="Matches">
        {shown.map((entry, index) => (
          <li
            key={`${entry.group} ${entry.words} ${index}`}
            id={`${list}-${index}`}
            ref={index === at ? chosen : undefined}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => index !== at && setAt(index)}
            onClick={() => act(entry)}
          >
            <Icon name={entry.icon} />
            <span>{entry.words}</span>
            <span className="hint-words">{entry.hint ?? entry.group}</span>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="quiet" style={{ padding: "8px 20px 16px" }}>Nothing matches.</p>}
    </Dialog>
  );
}

function useEntries(text: string): Entry[] {
  const { go } = useRouter();
  const tools = useLoad(() => api.tools(), []);
  const documents = useLoad(() => api.documents(), []);
  const runs = useRuns(text);
  return useMemo(() => {
    const pages = Object.values(GO).map(({ page, word }): Entry => ({ group: "Page", icon: "arrow", words: word, hint: "Page", act: () => go(page ? to(page) : to()) }));
    const workflows = (tools.value?.tools ?? []).flatMap((tool): Entry[] => [
      { group: "Workflow", icon: "play", words: `Run ${tool.title ?? tool.name}`, hint: "Workflow", more: `${tool.name} ${tool.description ?? ""}`, act: () => go(to("tools", tool.name)) },
      { group: "Workflow", icon: "activity", words: `Runs of ${tool.title ?? tool.name}`, hint: "Workflow", more: tool.name, act: () => go(`${to("runs")}?workflow=${encodeURIComponent(tool.name)}`) },
    ]);
    const files = (documents.value?.documents ?? []).map((one): Entry => ({ group: "Document", icon: "document", words: one.name, hint: `Document · ${one.format}`, more: one.path, act: () => go(to("documents", one.id)) }));
    const past = runs.map((run): Entry => {
      const look = runStatusLook(run);
      return { group: "Run", icon: "activity", words: `${run.workflow} · ${look.words}`, hint: ago(Date.now() - run.updated_ms), more: `${run.run_id} ${run.input_preview ?? ""} ${run.outcome_preview ?? ""} ${text}`, act: () => go(to("runs", run.run_id)) };
    });
    const commands: Entry[] = [
      { group: "Command", icon: "light", words: "Light theme", hint: "Command", act: () => setTheme("light") },
      { group: "Command", icon: "dark", words: "Dark theme", hint: "Command", act: () => setTheme("dark") },
      { group: "Command", icon: "system", words: "Theme of the system", hint: "Command", act: () => setTheme("auto") },
      { group: "Command", icon: "workflow", words: "Draw graphs top down", hint: "Command", act: () => setDirection("TB") },
      { group: "Command", icon: "workflow", words: "Draw graphs left to right", hint: "Command", act: () => setDirection("LR") },
      { group: "Command", icon: "compare", words: "Compare two runs", hint: "Command", act: () => go(to("compare")) },
      { group: "Command", icon: "warning", words: "Failed runs", hint: "Command", act: () => go(`${to("runs")}?status=failed`) },
      { group: "Command", icon: "stopped", words: "Interrupted runs", hint: "Command", act: () => go(`${to("runs")}?status=interrupted`) },
    ];
    return [...pages, ...workflows, ...files, ...past, ...commands];
  }, [go, tools.value, documents.value, runs, text]);
}

/** The latest runs, or those that the server finds by the text, also in inputs and errors. */
function useRuns(text: string) {
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useLoad(() => api.runs({ most: asked ? RUNS_MAX : 8, text: asked || undefined }), [asked]).value?.runs ?? NONE;
}

const NONE: never[] = [];
