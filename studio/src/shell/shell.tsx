// The frame around every page: navigation, theme, token prompt.
import { useEffect, useRef, type ReactNode } from "react";
import { api } from "../api/client";
import { Link, to, useRouter, type Route } from "../router";
import { useLoad } from "./load";
import { ErrorBoundary } from "./error-boundary";
import { setTheme, useTheme, type Theme } from "./theme";
import { TokenPrompt } from "./token-prompt";
import { useQuestionCount } from "./question-count";

const PAGES: { name: string; href: string; pages: Route["page"][] }[] = [
  { name: "Workflows", href: to("tools"), pages: ["tools", "tool"] },
  { name: "Runs", href: to("runs"), pages: ["runs", "run", "compare"] },
  { name: "Inbox", href: to("inbox"), pages: ["inbox"] },
  { name: "Documents", href: to("documents"), pages: ["documents", "document"] },
  { name: "Playground", href: to("playground"), pages: ["playground"] },
];

export function Shell({ children }: { children: ReactNode }) {
  const { route, path } = useRouter();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
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
      <header className="bar">
        <Link className="name" href={to()}>
          <Mark /> Tramline studio
        </Link>
        <Navigation here={route.page} />
        <ThemeSwitch />
      </header>
      <main id="main" ref={main} tabIndex={-1} data-path={path}>
        <TokenPrompt />
        <ErrorBoundary of={path}>{children}</ErrorBoundary>
      </main>
    </div>
  );
}

function Navigation({ here }: { here: Route["page"] }) {
  const asked = useQuestionCount();
  return (
    <nav aria-label="Studio">
      <ul>
        {PAGES.map(({ name, href, pages }) => (
          <li key={name}>
            <Link href={href} aria-current={pages.includes(here) ? "page" : undefined}>
              {name}
              {name === "Inbox" && asked > 0 && (
                <span className="count">
                  {asked}
                  <span className="unseen"> waiting</span>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function ThemeSwitch() {
  const { theme } = useTheme();
  const about = useLoad(() => api.about(), []);
  return (
    <div className="aside">
      {about.value && <span className="quiet">{about.value.version}</span>}
      <label>
        <span className="unseen">Theme</span>
        <select value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
          <option value="auto">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
    </div>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <path d="M8 25V9m16 16V9M8 13h16M8 20h16" stroke="var(--on-accent)" strokeWidth="2.6" strokeLinecap="round" fill="none" />
    </svg>
  );
}
