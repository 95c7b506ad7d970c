// Takes the screenshots of the documentation, and pictures of every page.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/browser/pictures.ts", "tests/browser/walk.ts", "tests/browser/recording.ts"], environment: "node", fileParallelism: false, testTimeout: 300_000, hookTimeout: 120_000 },
});
