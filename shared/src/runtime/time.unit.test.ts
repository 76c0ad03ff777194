import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { delay, systemTime } from './time.ts'

it('does not wait for a time that has passed, and Node warns of nothing', async () => {
  const warnings: string[] = []
  const note = ({ message }: Error) => void warnings.push(message)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  await delay(systemTime, -1)
  await nextTurn()
  expect(warnings).toEqual([])
})
