export * from './go.ts'
