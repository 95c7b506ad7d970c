// Takes the screenshots of the documentation.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/browser/pictures.ts"], environment: "node", fileParallelism: false, testTimeout: 120_000, hookTimeout: 60_000 },
});
