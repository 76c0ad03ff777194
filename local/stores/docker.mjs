export * from './docker.ts'
