import { connect, createServer } from 'node:net'
import { listen } from '../support/listen.ts'

/** A Service as nodes make it: each connection goes to one of the endpoints, in turn, and stays there. */
export async function startBalancer() {
  const endpoints: number[] = []
  let next = 0
  const server = createServer((client) => {
    const port = endpoints[next++ % endpoints.length]
    if (port === undefined) return client.destroy()
    const pod = connect(port, '127.0.0.1')
    client.pipe(pod).pipe(client)
    for (const [from, to] of [
      [client, pod],
      [pod, client],
    ] as const) {
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    add: (endpoint: number) => void endpoints.push(endpoint),
    remove: (endpoint: number) => void endpoints.splice(endpoints.indexOf(endpoint), 1),
  }
}
