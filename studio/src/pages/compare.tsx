// Two runs side by side.
export function Compare() {
  return null;
}
