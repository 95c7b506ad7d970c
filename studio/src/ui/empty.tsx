// Placeholders: the outline of what is loading, and what to do where there is nothing yet.
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon";

/** Grey lines in the shape of the content. */
export function Skeleton({ rows = 3, tall }: { rows?: number; tall?: boolean }) {
  return (
    <div className="skeleton" role="status" data-tall={tall || undefined}>
      <span className="unseen">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className="skeleton-row" style={{ width: `${92 - ((row * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty-state">
      <Icon name={icon} size={28} />
      <p className="empty-title">{title}</p>
      {children && <div className="quiet">{children}</div>}
    </div>
  );
}
