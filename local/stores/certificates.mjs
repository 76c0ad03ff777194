export * from './certificates.ts'
