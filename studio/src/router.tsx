// Which page is shown follows from the address alone, so that every view can be linked to.
import { createContext, useContext, useEffect, useMemo, useState, type AnchorHTMLAttributes, type ReactNode } from "react";

export const BASE = "/studio";

export type Route =
  | { page: "tools" }
  | { page: "tool"; name: string }
  | { page: "runs" }
  | { page: "run"; run: string; step?: number }
  | { page: "compare" }
  | { page: "documents" }
  | { page: "document"; id: string }
  | { page: "inbox" }
  | { page: "playground" }
  | { page: "lost"; path: string };

/** Reads a path into the page it names. */
export function parse(path: string): Route {
  const inside = path.startsWith(BASE) ? path.slice(BASE.length) : path;
  const parts = inside.split("/").filter(Boolean).map(decoded);
  const [first, second, third, fourth] = parts;
  switch (first) {
    case undefined:
      return { page: "tools" };
    case "tools":
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

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page, from the parts of its path. */
export function to(...parts: (string | number)[]): string {
  return [BASE, ...parts.map((part) => encodeURIComponent(String(part)))].join("/");
}

type Place = { path: string; search: string };
type Router = Place & { route: Route; go: (path: string, how?: { replace?: boolean }) => void };

const Here = createContext<Router | null>(null);

function place(): Place {
  return { path: location.pathname, search: location.search };
}

export function Routed({ children }: { children: ReactNode }) {
  const [here, setHere] = useState(place);
  useEffect(() => {
    const moved = () => setHere(place());
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
        setHere(place());
      },
    }),
    [here],
  );
  return <Here.Provider value={router}>{children}</Here.Provider>;
}

export function useRouter(): Router {
  const router = useContext(Here);
  if (!router) throw new Error("outside of the router");
  return router;
}

/** A link inside the studio: a plain click stays on the page, any other does what browsers do. */
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
