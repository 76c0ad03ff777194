import { expect, it } from 'vitest'
import { startOf } from '../local/processes/process-identity.ts'

const stat = (state: string, threads: number) =>
  `20063 (a (b) c) ${state} 20060 20060 31801 0 -1 4227084 3042 6562 1 0 5 4 6 3 20 0 ${threads} 0 1861668 0 0 1844674407`

it('a process is alive while it runs', () => {
  expect(startOf(stat('S', 11))).toBe('1861668')
  expect(startOf(stat('R', 1))).toBe('1861668')
})

it('a killed process is alive until its last thread has released its resources', () => {
  expect(startOf(stat('Z', 2))).toBe('1861668')
  expect(startOf(stat('Z', 1))).toBeUndefined()
})
