// Short messages about something that was done, in a corner of the page.
import { Toast as Base } from "@base-ui/react/toast";
import type { ReactNode } from "react";
import { Icon } from "./icon";

const manager = Base.createToastManager();

/** Shows a message for a few seconds. */
export function toast(title: string, about?: string): void {
  manager.add({ title, description: about });
}

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Base.Provider toastManager={manager}>
      {children}
      <Base.Portal>
        <Base.Viewport className="toasts">
          <ToastList />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function ToastList() {
  const { toasts } = Base.useToastManager();
  return toasts.map((one) => (
    <Base.Root key={one.id} toast={one} className="toast">
      <Base.Content className="toast-body">
        <Base.Title className="toast-title" />
        <Base.Description className="quiet" />
        <Base.Close className="btn" data-bare data-small aria-label="Dismiss">
          <Icon name="close" size={14} />
        </Base.Close>
      </Base.Content>
    </Base.Root>
  ));
}

/** Copies text and says so. */
export function copy(text: string, what: string): void {
  navigator.clipboard.writeText(text).then(
    () => toast(`${what} copied`),
    (wrong: Error) => toast(`${what} could not be copied`, wrong.message),
  );
}
