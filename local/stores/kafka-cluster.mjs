export * from './kafka-cluster.ts'
