// The page is determined by the URL alone, so that every view can be linked to.
import { createContext, useContext, useEffect, useMemo, useState, type AnchorHTMLAttributes, type ReactNode } from "react";

export const BASE = "/studio";

export type Route =
  | { page: "home" }
  | { page: "tools" }
  | { page: "tool"; name: string }
  | { page: "versions"; name: string }
  | { page: "runs" }
  | { page: "run"; run: string; step?: number }
  | { page: "compare" }
  | { page: "documents" }
  | { page: "document"; id: string }
  | { page: "inbox" }
  | { page: "playground" }
  | { page: "lost"; path: string };

/** Parses a path into a route. */
export function parse(path: string): Route {
  const inside = path.startsWith(BASE) ? path.slice(BASE.length) : path;
  const parts = inside.split("/").filter(Boolean).map(decodePart);
  const [first, second, third, fourth] = parts;
  switch (first) {
    case undefined:
      return { page: "home" };
    case "tools":
      if (second && third === "versions") return { page: "versions", name: second };
      return second ? { page: "tool", name: second } : { page: "tools" };
    case "runs":
      if (!second) return { page: "runs" };
      if (third === "steps" && fourth && /^\d+$/.test(fourth)) return { page: "run", run: second, step: Number(fourth) };
      return third ? { page: "lost", path } : { page: "run", run: second };
    case "compare":
      return { page: "compare" };
    case "documents":
      return second ? { page: "document", id: second } : { page: "documents" };
    case "inbox":
      return { page: "inbox" };
    case "playground":
      return { page: "playground" };
    default:
      return { page: "lost", path };
  }
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The URL of a page, from the parts of its path. */
export function to(...parts: (string | number)[]): string {
  return [BASE, ...parts.map((part) => encodeURIComponent(String(part)))].join("/");
}

type UrlParts = { path: string; search: string };
type Router = UrlParts & { route: Route; go: (path: string, how?: { replace?: boolean }) => void };

const RouterContext = createContext<Router | null>(null);

function currentUrl(): UrlParts {
  return { path: location.pathname, search: location.search };
}

export function RouterProvider({ children }: { children: ReactNode }) {
  const [here, setHere] = useState(currentUrl);
  useEffect(() => {
    const moved = () => setHere(currentUrl());
    addEventListener("popstate", moved);
    return () => removeEventListener("popstate", moved);
  }, []);
  const router = useMemo<Router>(
    () => ({
      ...here,
      route: parse(here.path),
      go: (path, how) => {
        if (path === location.pathname + location.search) return;
        if (how?.replace) history.replaceState(null, "", path);
        else history.pushState(null, "", path);
        setHere(currentUrl());
      },
    }),
    [here],
  );
  return <RouterContext.Provider value={router}>{children}</RouterContext.Provider>;
}

export function useRouter(): Router {
  const router = useContext(RouterContext);
  if (!router) throw new Error("outside of the router");
  return router;
}

/** A link inside the studio: a plain click stays on the page, any other click does what the browser does. */
export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const { go } = useRouter();
  return (
    <a
      href={href}
      onClick={(event) => {
        onClick?.(event);
        const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
        if (!plain || event.defaultPrevented) return;
        event.preventDefault();
        go(href);
      }}
      {...rest}
    />
  );
}
