// A menu button. Keyboard, focus and positions come from the component library.
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon";

export type MenuItem = { label: string; icon?: IconName; hint?: string; danger?: boolean; disabled?: boolean; checked?: boolean; onPick: () => void } | "line";

type Props = { label: string; icon?: IconName; items: MenuItem[]; bare?: boolean; small?: boolean; disabled?: boolean; children?: ReactNode };

export function Menu({ label, icon, items, bare, small, disabled, children }: Props) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger className="btn" data-bare={bare || undefined} data-small={small || undefined} aria-label={children === undefined ? undefined : label} disabled={disabled}>
        {children ?? (
          <>
            {icon && <Icon name={icon} />}
            {label}
            <Icon name="down" size={14} />
          </>
        )}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className="floating">
          <Base.Popup className="menu" aria-label={label}>
            {items.map((item, index) =>
              item === "line" ? (
                <Base.Separator key={index} className="menu-line" />
              ) : (
                <Base.Item key={item.label} className="menu-item" data-danger={item.danger || undefined} disabled={item.disabled} onClick={item.onPick}>
                  <span className="menu-icon">{item.checked ? <Icon name="check" /> : item.icon && <Icon name={item.icon} />}</span>
                  <span className="menu-words">
                    {item.label}
                    {item.checked && <span className="unseen"> (selected)</span>}
                    {item.hint && <span className="menu-hint">{item.hint}</span>}
                  </span>
                </Base.Item>
              ),
            )}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
