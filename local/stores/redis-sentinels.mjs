export * from './redis-sentinels.ts'
