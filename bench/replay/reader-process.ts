import { replyToOrder } from '../own-process.ts'
import type { Reader, ReaderName, Reading } from './readers.ts'

// Runs one reader in a separate process, so that readers do not affect each other, and replies with the measured time.

export type ReaderOrder = { name: ReaderName; reading: Reading }
/** From the assignment of the partitions to the last event. */
export type ReaderTimes = { seconds: number; cpuSeconds: number }

/** Imported on demand: kafkajs alone must not have the corrections that the others load. */
const LOAD: Record<ReaderName, () => Promise<Reader>> = {
  'kafkajs-alone': async () => (await import('./kafkajs-alone.ts')).readByKafkajsAlone,
  decoded: async () => (await import('./product-readers.ts')).readDecoded,
  replayed: async () => (await import('./product-readers.ts')).readIntoRedis,
  rebuilt: async () => (await import('./product-readers.ts')).readByRebuild,
}

await replyToOrder<ReaderOrder, ReaderTimes>(async ({ name, reading }) => {
  const read = await LOAD[name]()
  const all = Promise.withResolvers<void>()
  let begin: { at: number; cpu: NodeJS.CpuUsage } | undefined
  let counted = 0
  const close = await read(reading, {
    onStart() {
      begin ??= { at: performance.now(), cpu: process.cpuUsage() }
    },
    count(records) {
      counted += records
      if (counted >= reading.events) all.resolve()
    },
    fail: all.reject,
  })
  await all.promise
  if (begin === undefined) throw new Error(`${name} was assigned no partition`)
  const { user, system } = process.cpuUsage(begin.cpu)
  const seconds = (performance.now() - begin.at) / 1_000
  await close()
  return { seconds, cpuSeconds: (user + system) / 1e6 }
})
