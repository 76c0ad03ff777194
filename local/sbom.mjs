export * from './sbom.ts'
