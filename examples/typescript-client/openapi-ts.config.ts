import { defineConfig } from '@hey-api/openapi-ts'

// The transformers make ids bigints.
export default defineConfig({
  input: '../../docs/openapi.yaml',
  output: { path: 'generated/hey-api', module: { extension: '.ts' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/transformers', { name: '@hey-api/sdk', transformer: true }],
})
