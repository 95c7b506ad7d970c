// A choice of one of several values.
import { Select as Base } from "@base-ui/react/select";
import { Icon } from "./icon";

export type Option = { value: string; label: string; hint?: string };
type Props = { label: string; value: string; options: Option[]; onChange: (value: string) => void; placeholder?: string; wide?: boolean };

export function Select({ label, value, options, onChange, placeholder, wide }: Props) {
  const shown = options.find((one) => one.value === value);
  return (
    <Base.Root value={value} modal={false} onValueChange={(next) => next !== null && onChange(next)}>
      <Base.Trigger className="btn select" data-wide={wide || undefined} aria-label={label}>
        <Base.Value className="select-value">{() => shown?.label ?? (placeholder || value)}</Base.Value>
        <Icon name="down" size={14} />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="floating">
          <Base.Popup className="menu">
            <Base.List aria-label={label}>
              {options.map((one) => (
                <Base.Item key={one.value} value={one.value} className="menu-item">
                  <span className="menu-icon">
                    <Base.ItemIndicator>
                      <Icon name="check" />
                    </Base.ItemIndicator>
                  </span>
                  <span className="menu-words">
                    <Base.ItemText>{one.label}</Base.ItemText>
                    {one.hint && <span className="menu-hint">{one.hint}</span>}
                  </span>
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
