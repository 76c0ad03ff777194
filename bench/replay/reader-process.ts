import { once } from 'node:events'
import type { Reading } from './reader.ts'
import { READERS, type ReaderName } from './readers.ts'

// A reader in a process of its own, so that none is affected by another: it gets an order as a message, and sends the
// time that it took as a message.

export type Order = { name: ReaderName; reading: Reading }
/** From the partitions assigned to the last event read. */
export type Measured = { seconds: number; cpuSeconds: number }

const [{ name, reading }] = (await once(process, 'message')) as [Order]
const read = await READERS[name]()
let begin: { at: number; cpu: NodeJS.CpuUsage } | undefined
const close = await read(reading, () => {
  begin ??= { at: performance.now(), cpu: process.cpuUsage() }
})
if (begin === undefined) throw new Error(`${name}: it was assigned no partition`)
const { user, system } = process.cpuUsage(begin.cpu)
const seconds = (performance.now() - begin.at) / 1_000
const measured: Measured = { seconds, cpuSeconds: (user + system) / 1_000_000 }
await close()
process.send?.(measured, () => process.disconnect?.())
