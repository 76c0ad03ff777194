import '@plant-store/shared/runtime/signals.ts'

// Not a static import: all of those are loaded before the first one is evaluated.
await import('./run.ts')
