import { expect, it } from 'vitest'
import { boundedPools, withClosedPools } from './connections.ts'
import { kafkajsModule } from './kafkajs.ts'

it('a client that is disconnected ends the connections to brokers that it dropped before, each once', async () => {
  const ended: string[] = []
  const createBuilder = () => ({
    build: async (destination?: object) => {
      const { host } = destination as { host: string }
      const destroy = async () => void ended.push(host)
      return { host, port: 9_092, pool: [], getConnection: async () => {}, send: async () => {}, destroy }
    },
  })
  const logger = { error() {} }
  const connectionPoolBuilder = boundedPools(createBuilder, kafkajsModule('src/errors.js'))({ brokers: [], logger })
  const [known, dropped, unused] = await Promise.all(
    ['known', 'dropped', 'unused'].map((host) => connectionPoolBuilder.build({ host })),
  )
  const disconnect = async () => {
    await Promise.all([known?.destroy(), unused?.destroy()])
  }
  const client = {
    connectionPoolBuilder,
    ...withClosedPools({ connectionPoolBuilder, connect: async () => {}, disconnect }),
  }
  await Promise.all([known?.getConnection(), dropped?.getConnection()])
  await client.disconnect()
  expect(ended).toEqual(['known', 'unused', 'dropped'])
  await expect(dropped?.getConnection()).rejects.toThrow('the client is disconnected')
})
