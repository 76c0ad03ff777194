export * from './run-file.ts'
