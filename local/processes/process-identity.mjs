export * from './process-identity.ts'
