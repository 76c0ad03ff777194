export * from './side-by-side.ts'
