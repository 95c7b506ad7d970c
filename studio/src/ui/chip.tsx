// A small label with a tone: always an icon or a word beside the colour.
import type { ReactNode } from "react";
import type { Tone } from "../run/run-status";
import { Icon, type IconName } from "./icon";

export function Chip({ tone = "idle", icon, children, title }: { tone?: Tone; icon?: IconName; children: ReactNode; title?: string }) {
  return (
    <span className="chip" data-tone={tone} title={title}>
      {icon && <Icon name={icon} size={13} />}
      {children}
    </span>
  );
}
