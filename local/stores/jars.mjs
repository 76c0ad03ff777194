export * from './jars.ts'
