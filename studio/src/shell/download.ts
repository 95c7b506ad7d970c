// Downloads.

/** Offers text or a blob as a download. */
export function download(name: string, what: string | Blob, kind = "application/json"): void {
  const blob = typeof what === "string" ? new Blob([what], { type: kind }) : what;
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Browsers do not draw larger canvases. */
const SIDE_MAX = 8_192;

/** Renders an SVG and downloads it as a PNG, at twice the screen resolution if that fits. */
export async function downloadPng(name: string, svg: string, width: number, height: number): Promise<void> {
  const scale = Math.min(2, SIDE_MAX / Math.max(width, height, 1));
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) download(name, blob);
}
