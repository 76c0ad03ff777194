// The fuzzer accepts no TypeScript as its entry.
export * from './targets.ts'
