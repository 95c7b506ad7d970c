// The frame around every page: navigation, search, connection, theme, token prompt.
import { useEffect, useRef, useState, type ReactNode } from "react";
import { api } from "../api/client";
import { useConnection } from "../api/connection";
import { Link, to, useRouter, type Route } from "../router";
import { Chip } from "../ui/chip";
import { Icon, type IconName } from "../ui/icon";
import { Menu } from "../ui/menu";
import { Elapsed } from "../ui/time";
import { useDrafts } from "../editor/drafts";
import { useLoad } from "./load";
import { ErrorBoundary } from "./error-boundary";
import { KeyHelp } from "./key-help";
import { Palette } from "./palette";
import { setTheme, useTheme, type Theme } from "./theme";
import { TokenPrompt } from "./token-prompt";
import { useQuestionCount } from "./question-count";
import { useShortcuts } from "./shortcuts";

const PAGES: { name: string; icon: IconName; href: string; pages: Route["page"][] }[] = [
  { name: "Home", icon: "home", href: to(), pages: ["home"] },
  { name: "Workflows", icon: "workflow", href: to("tools"), pages: ["tools", "tool"] },
  { name: "Runs", icon: "activity", href: to("runs"), pages: ["runs", "run", "compare"] },
  { name: "Inbox", icon: "inbox", href: to("inbox"), pages: ["inbox"] },
  { name: "Documents", icon: "document", href: to("documents"), pages: ["documents", "document"] },
  { name: "Playground", icon: "playground", href: to("playground"), pages: ["playground"] },
];

export function Shell({ children }: { children: ReactNode }) {
  const { route, path, go } = useRouter();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const [dialog, setDialog] = useState<"find" | "keys">();
  useShortcuts({ find: () => setDialog("find"), keys: () => setDialog("keys"), go: (part) => go(part === "" ? to() : to(part)) });
  // A new page is read from its top; within a page the focus stays where it is.
  useEffect(() => {
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [route.page]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="side">
        <Link className="name" href={to()}>
          <Mark /> <span className="word">Tramline</span>
        </Link>
        <Navigation here={route.page} />
        <Foot />
      </header>
      <div className="topbar" role="toolbar" aria-label="Studio">
        <button type="button" className="find" onClick={() => setDialog("find")}>
          <Icon name="search" /> Search <span className="kbd">Ctrl K</span>
        </button>
        <span className="grow" />
        <ConnectionChip />
        <button type="button" className="btn only-wide" data-bare aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => setDialog("keys")}>
          <Icon name="keyboard" />
        </button>
        <Link className="btn only-wide" href={to("tools")}>
          <Icon name="plus" /> New run
        </Link>
      </div>
      <main id="main" ref={main} tabIndex={-1} data-path={path}>
        <LostBanner />
        <TokenPrompt />
        <ErrorBoundary of={path}>{children}</ErrorBoundary>
      </main>
      {dialog === "find" && <Palette onClose={() => setDialog(undefined)} />}
      {dialog === "keys" && <KeyHelp onClose={() => setDialog(undefined)} />}
    </div>
  );
}

function Navigation({ here }: { here: Route["page"] }) {
  const asked = useQuestionCount();
  const drafts = useDrafts().length;
  return (
    <nav aria-label="Studio">
      <ul>
        {PAGES.map(({ name, icon, href, pages }) => (
          <li key={name}>
            <Link href={href} aria-current={pages.includes(here) ? "page" : undefined}>
              <Icon name={icon} size={17} />
              <span className="word">{name}</span>
              {name === "Inbox" && asked > 0 && (
                <span className="count">
                  {asked}
                  <span className="unseen"> waiting</span>
                </span>
              )}
              {name === "Documents" && drafts > 0 && (
                <span className="count" title="Unsaved edits">
                  {drafts}
                  <span className="unseen"> unsaved</span>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const THEMES: { theme: Theme; label: string; icon: IconName }[] = [
  { theme: "auto", label: "System", icon: "system" },
  { theme: "light", label: "Light", icon: "light" },
  { theme: "dark", label: "Dark", icon: "dark" },
];

function Foot() {
  const { theme, shown } = useTheme();
  const about = useLoad(() => api.about(), []);
  return (
    <div className="foot">
      <span className="quiet">{about.value && `Version ${about.value.version}`}</span>
      <Menu label="Theme" bare items={THEMES.map((one) => ({ label: one.label, icon: one.icon, checked: one.theme === theme, onPick: () => setTheme(one.theme) }))}>
        <Icon name={shown === "dark" ? "dark" : "light"} />
      </Menu>
    </div>
  );
}

function ConnectionChip() {
  const { up } = useConnection();
  return (
    <span data-testid="connection">
      <Chip tone={up ? "ok" : "bad"} icon={up ? "dot" : "alert"}>
        {up ? "Connected" : "Offline"}
      </Chip>
    </span>
  );
}

/** What is on the page may be old while the server is away; it reloads by itself. */
function LostBanner() {
  const { up, lost_ms } = useConnection();
  if (up || lost_ms === undefined) return null;
  return (
    <div className="lost" role="alert">
      <Icon name="warning" />
      <span>
        The server cannot be reached. What you see is from before; the page updates by itself once the server is back (<Elapsed since_ms={lost_ms} />).
      </span>
    </div>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path d="M8 25V9m16 16V9M8 13h16M8 20h16" stroke="var(--on-accent)" strokeWidth="2.6" strokeLinecap="round" fill="none" />
    </svg>
  );
}
