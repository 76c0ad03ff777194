import type { Contender } from '../contender.ts'
import { startAppProcess, TOKEN } from './app-process.ts'
import { openPlantsTopic } from './plants-topic.ts'

export const producerSend: Contender = {
  name: 'one producer.send a request',
  promise: 'in the log of all in-sync replicas (one here), not forced to disk; not unique, and no read model',
  async start({ kafkaBrokers, processes }) {
    const log = await openPlantsTopic(kafkaBrokers)
    const { topic, partitions } = log
    const app = await startAppProcess('producer-send', {
      kafkaBrokers,
      topic,
      partitions: String(partitions),
    })
    return {
      ...{ url: app.url, token: TOKEN, missing: log.missing },
      processes: new Map([['api', app.pid], ...[...processes].filter(([name]) => name === 'broker')]),
      async stop() {
        await app.stop()
        await log.remove()
      },
    }
  },
}
