export * from './process.ts'
