// The page in a real browser against the real binary, one file after the other.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/browser/*.test.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
