import { describe, expect, it, vi } from 'vitest'
import { type FollowedLog, followLog } from '../../../tests/support/followed-log.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { recreateTopic } from '../../../tests/support/recreated-topic.ts'
import type { Partition } from '../plant/position.ts'
import { PreconditionError } from '../runtime/failures.ts'

const WAIT_MS = 20_000
const P = 0 as Partition

async function followTen() {
  const topic = await openTopic()
  await topic.append(10)
  // As an api's tail: the topic is recreated within the wait of one fetch.
  const followed = followLog(topic, { maxWaitMs: 500 })
  await vi.waitFor(() => expect(followed.offsetsOf(P)).toHaveLength(10), WAIT_MS)
  return { topic, followed }
}

async function expectHalt({ halts, offsetsOf }: FollowedLog): Promise<void> {
  await vi.waitFor(() => expect(halts).not.toEqual([]), WAIT_MS)
  expect(halts).toEqual([expect.any(PreconditionError)])
  expect(halts[0]).toMatchObject({
    fault: 'another-log',
    message: expect.stringMatching(/^another log: the topic had the id \S{22}, it has \S{22}: .*Restore the/),
  })
  expect(offsetsOf(P)).toHaveLength(10)
}

describe('a topic recreated and filled beyond the checkpoint halts its follower, which applies nothing of it', () => {
  it('while no fetch is in flight', async () => {
    const { topic, followed } = await followTen()
    followed.follower.pause()
    await recreateTopic(topic, 30)
    followed.follower.resume()
    await expectHalt(followed)
  })

  it('while a fetch waits', async () => {
    const { topic, followed } = await followTen()
    await recreateTopic(topic, 30)
    await expectHalt(followed)
  })
})
