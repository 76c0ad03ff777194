import { Cluster } from 'ioredis'

type Parameter<Method extends 'sendCommand' | 'handleError', At extends number> = Parameters<Cluster[Method]>[At]

/** The cluster client of ioredis, without what would break the read model's promises. */
export class ReadModelCluster extends Cluster {
  /** Rejects calls at once while no node is reachable: ioredis keeps them without a limit in number or time. */
  override sendCommand(
    command: Parameter<'sendCommand', 0>,
    stream?: Parameter<'sendCommand', 1>,
    node?: Parameter<'sendCommand', 2>,
  ): unknown {
    if (this.status === 'ready' || command.name === 'cluster') return super.sendCommand(command, stream, node)
    command.reject(new Error('no node of the Redis Cluster is reachable'))
    return command.promise
  }

  /**
   * Does not follow ASK: while the keys of a slot move to another node one by one, a script there would take those that
   * are still missing for absent. The call fails, and a later one is redirected by MOVED when all keys have moved.
   */
  override handleError(error: Error, ttl: Parameter<'handleError', 1>, handlers: Parameter<'handleError', 2>): void {
    if (error.message.startsWith('ASK ')) handlers.defaults()
    else super.handleError(error, ttl, handlers)
  }
}
