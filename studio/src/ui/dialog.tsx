// A dialog: the focus stays inside and returns when it closes.
import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { Icon } from "./icon";

type Props = { open: boolean; onClose: () => void; title: string; bare?: boolean; wide?: boolean; children: ReactNode };

export function Dialog({ open, onClose, title, bare, wide, children }: Props) {
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog" data-bare={bare || undefined} data-wide={wide || undefined}>
          <header className={bare ? "unseen" : "dialog-head"}>
            <Base.Title className="dialog-title">{title}</Base.Title>
            {!bare && (
              <Base.Close className="btn" data-bare data-small aria-label="Close">
                <Icon name="close" />
              </Base.Close>
            )}
          </header>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
