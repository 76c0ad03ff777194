export * from './redis.ts'
