export * from './token.ts'
