import { once } from 'node:events'
import type { Reading } from './reader.ts'
import { READERS, type ReaderName } from './readers.ts'

// Runs one reader in a process of its own, so that readers do not affect each other. It receives an order as a message,
// and replies with the measured time.

export type Order = { name: ReaderName; reading: Reading }
/** From the assignment of the partitions to the last event. */
export type Measured = { seconds: number; cpuSeconds: number }

const [{ name, reading }] = (await once(process, 'message')) as [Order]
const read = await READERS[name]()
let begin: { at: number; cpu: NodeJS.CpuUsage } | undefined
const close = await read(reading, () => {
  begin ??= { at: performance.now(), cpu: process.cpuUsage() }
})
if (begin === undefined) throw new Error(`${name} was assigned no partition`)
const { user, system } = process.cpuUsage(begin.cpu)
const seconds = (performance.now() - begin.at) / 1_000
const measured: Measured = { seconds, cpuSeconds: (user + system) / 1_000_000 }
await close()
process.send?.(measured, () => process.disconnect?.())
