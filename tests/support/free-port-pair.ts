import { freePort, isPortFree } from '../../local/processes/port.mjs'

/** A port whose next one is free too. */
export async function freePortPair(): Promise<number> {
  const port = await freePort()
  return (await isPortFree(port + 1, '127.0.0.1')) ? port : freePortPair()
}
