export * from './prepare.ts'
