import { once } from 'node:events'
import type { Reading } from './reader.ts'
import { READERS, type ReaderName } from './readers.ts'

// A reader in a process of its own, so that none runs in what another one left: told by a message what to read,
// it answers with a message how long it took.

export type Order = { name: ReaderName; reading: Reading }
/** From the partitions assigned to the last event taken in. */
export type Measured = { seconds: number; cpuSeconds: number }

const [{ name, reading }] = (await once(process, 'message')) as [Order]
const read = await READERS[name]()
let begin: { at: number; cpu: NodeJS.CpuUsage } | undefined
const close = await read(reading, () => {
  begin ??= { at: performance.now(), cpu: process.cpuUsage() }
})
if (begin === undefined) throw new Error(`${name}: it was never given a partition`)
const { user, system } = process.cpuUsage(begin.cpu)
const seconds = (performance.now() - begin.at) / 1_000
const measured: Measured = { seconds, cpuSeconds: (user + system) / 1_000_000 }
await close()
process.send?.(measured, () => process.disconnect?.())
