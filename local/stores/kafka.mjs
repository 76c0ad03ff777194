export * from './kafka.ts'
