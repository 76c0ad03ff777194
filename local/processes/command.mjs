export * from './command.ts'
