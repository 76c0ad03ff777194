import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { expect, it } from 'vitest'
import { ApiSettings, windowBytesOf } from './settings.ts'

const STORES = { KAFKA_BROKERS: '127.0.0.1:9092', REDIS_URL: 'redis://127.0.0.1:6379' }
const read = (env: NodeJS.ProcessEnv) => readSettings(ApiSettings, { ...STORES, ...env })

it('the address of the keys of JWTs has no user and password; a wrong one is not repeated', () => {
  for (const url of ['https://id.example/keys', 'http://127.0.0.1:8080/', 'https://id.example/a/@b?tenant=1'])
    expect(read({ JWT_JWKS_URL: url })).toMatchObject({ JWT_JWKS_URL: url })
  for (const url of ['id.example/keys', 'ftp://id.example/', 'https://u@a/', 'https://:hunter2@a/'])
    expect(() => read({ JWT_JWKS_URL: url })).toThrow(
      /^settings: JWT_JWKS_URL must be an http\(s\) URL without user and password$/,
    )
})

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'thrift'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['TRUST_PROXY', '10.0.0.0/8,'],
  ['CORS_ORIGINS', 'https://a.example,*'],
])('a wrong %s is named', (name, value) => {
  expect(() => read({ [name]: value })).toThrow(`settings: ${name} must be`)
})

it('the window has room in each partition', () => {
  expect(windowBytesOf(read({ PLANTS_PARTITIONS: '1000', WINDOW_MAX_MIB: '63' }))).toBe(63 * 1_048_576)
  expect(() => windowBytesOf(read({ PLANTS_PARTITIONS: '1000', WINDOW_MAX_MIB: '62' }))).toThrow(
    'settings: WINDOW_MAX_MIB must be at least 63 for 1000 partitions (it is 62)',
  )
})
