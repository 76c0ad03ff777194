import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { take, withLock } from '../local/processes/lock.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const isHeld = (text: string) => text.startsWith('alive')

it('a process that has found an abandoned lock does not delete the lock that another one has taken since', () => {
  const file = join(temporaryFolder(), 'a.lock')
  take(file, 'dead', isHeld)
  const others: ReturnType<typeof take>[] = []
  const taken = take(file, 'alive: slow', (text) => {
    // Between its look and its attempt, another process takes the lock.
    if (others.length === 0) others.push(take(file, 'alive: fast', isHeld))
    return isHeld(text)
  })
  expect(others).toEqual([expect.objectContaining({ earlier: ['dead'] })])
  expect(taken).toBeUndefined()
  expect(take(file, 'alive: third', isHeld)).toBeUndefined()
})

it('a process that has found an abandoned lock does not take it after two others have had it', () => {
  const file = join(temporaryFolder(), 'a.lock')
  take(file, 'dead', isHeld)
  let looks = 0
  const taken = take(file, 'alive: slow', (text) => {
    looks += 1
    if (looks === 1) {
      take(file, 'alive: first', isHeld)?.release()
      take(file, 'alive: second', isHeld)?.forgetEarlier()
    }
    return isHeld(text)
  })
  expect(taken).toBeUndefined()
})

it('of work under one lock, one runs at a time, and it leaves one file', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'a.lock')
  let [running, most] = [0, 0]
  const work = async () => {
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running -= 1
  }
  await Promise.all(Array.from({ length: 5 }, () => withLock(file, { waitTimeoutMs: 10_000 }, work)))
  expect(most).toBe(1)
  expect(readdirSync(folder)).toHaveLength(1)
})
