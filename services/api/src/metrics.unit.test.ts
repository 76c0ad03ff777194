import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { expect, it } from 'vitest'
import { parseMetrics } from '../../../tests/support/metrics-text.ts'
import { addApiMetrics } from './metrics.ts'

const appended = Array.from({ length: 3 }, () => ({}) as never)

async function samplesOf(metrics: ReturnType<typeof createMetrics>, name: string) {
  const families = parseMetrics(await metrics.metrics())
  const { samples = [] } = families.get(name) ?? {}
  return Object.fromEntries(samples.map((sample) => [sample.name.slice(name.length), sample.value]))
}

it('counts and times a failed append like any other, and rethrows its error', async () => {
  const metrics = createMetrics('api')
  const lost = new Error('lost')
  const failing = addApiMetrics(metrics).observeAppends({
    append: () => Promise.reject(lost),
  })
  await expect(failing.append(appended)).rejects.toBe(lost)
  expect(await samplesOf(metrics, 'plant_store_append_failures_total')).toEqual({ '': 1 })
  expect(await samplesOf(metrics, 'plant_store_append_records')).toMatchObject({ _count: 1, _sum: 3 })
  expect(await samplesOf(metrics, 'plant_store_append_duration_seconds')).toMatchObject({ _count: 1 })
})

it('measures the duration of an append', async () => {
  const metrics = createMetrics('api')
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const appending = addApiMetrics(metrics)
    .observeAppends({ append: () => promise })
    .append(appended)
  expect(await samplesOf(metrics, 'plant_store_append_duration_seconds')).toMatchObject({ _count: 0 })
  resolve(undefined)
  await appending
  expect(await samplesOf(metrics, 'plant_store_append_duration_seconds')).toMatchObject({ _count: 1 })
  expect(await samplesOf(metrics, 'plant_store_append_failures_total')).toEqual({ '': 0 })
})

it('shares nothing between two apis in one process', async () => {
  const [first, second] = [createMetrics('api'), createMetrics('api')]
  const observe = addApiMetrics(first)
  addApiMetrics(second)
  observe.requestCompleted({
    method: 'GET',
    route: '/plants/:id',
    status: 200,
    error: undefined,
    durationMs: 1,
  })
  expect(await samplesOf(first, 'plant_store_http_requests_total')).toEqual({ '': 1 })
  expect(await samplesOf(second, 'plant_store_http_requests_total')).toEqual({})
})
