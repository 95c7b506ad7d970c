// Builds the page into the crate that serves it, reproducibly.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressed } from "./build/compressed.ts";
import { notices } from "./build/notices.ts";

/** Where the binary embeds the page from; `STUDIO_OUT` builds elsewhere, for comparison. */
const out = process.env.STUDIO_OUT ?? "../crates/tramline-web/assets";
/** The running `tramline studio` that `npm run dev` uses. */
const served = process.env.STUDIO_API ?? "http://127.0.0.1:8080";

const bundled = notices();

export default defineConfig({
  base: "/studio/",
  plugins: [react(), bundled, compressed()],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The editor is large and loaded when a document is opened.
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  server: { proxy: { "/api": { target: served, changeOrigin: true, headers: { origin: served } } } },
});
