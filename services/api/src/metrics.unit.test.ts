import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { expect, it } from 'vitest'
import { valuesOf } from '../../../tests/support/metrics-text.ts'
import { addApiMetrics } from './metrics.ts'

it.each([
  [1, [200, undefined], [503, 50301], [503, 50302], [503, 50303], [0, 50301]],
  // Refused, or an error of the client.
  [0, [503, 50300], [503, 50304], [503, 50305], [400, 40003], [0, 40000], [401, 40100]],
] as [number, ...[number, number | undefined][]][])(
  '%i duration of a create counts with each of %j',
  async (count, ...all) => {
    for (const [status, error] of all) {
      const metrics = createMetrics('api')
      const { requestCompleted } = addApiMetrics(metrics)
      requestCompleted({ method: 'POST', route: '/plants', status, error, durationMs: 1 })
      const found = (await valuesOf(metrics, 'plant_store_create_duration_seconds'))._count ?? 0
      expect([status, error, found]).toEqual([status, error, count])
    }
  },
)
