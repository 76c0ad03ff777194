import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { createAuthority } from './certificates.ts'
import { answersKafka, type NodeOptions, newClusterId, nodeSettings, startNode } from './kafka.ts'

/** `dir` belongs to this cluster alone: certificates and data. It is made when missing. */
type ClusterOptions = Pick<NodeOptions, 'dir' | 'classpath' | 'java' | 'startTimeoutMs' | 'signal'> & {
  logDir: string
  /** Called for each port. */
  nextPort(): number
  /** By user; `admin` may do everything, all others what ACLs allow. */
  passwords: Record<string, string>
}

const HOST = 'localhost'
export const MECHANISM = 'SCRAM-SHA-512'
/** The brokers' own name, from their certificate. */
const BROKER = 'kafka'

/**
 * Three brokers on this machine, as production has them: each record on three of them, of which two must have it;
 * clients log in by SCRAM over TLS and may do what an ACL allows; brokers know each other by certificates. The first
 * start on `dir` decides the passwords.
 */
export async function startKafkaCluster({ dir, logDir, passwords, nextPort, ...options }: ClusterOptions) {
  const { caFile, settings: scram } = scramOverTls(join(dir, 'certificates'), BROKER, [HOST, '127.0.0.1'])
  // The ports for clients are the first ones and in a row.
  const clients = [nextPort(), nextPort(), nextPort()]
  const places = clients.map((client, n) => ({ id: n + 1, client, broker: nextPort(), controller: nextPort() }))
  const common = {
    ...clusterSettings(places),
    ...scram,
    // Brokers know each other by certificates.
    'listener.security.protocol.map': 'SASL_SSL:SASL_SSL,BROKER:SSL,CONTROLLER:SSL',
    'inter.broker.listener.name': 'BROKER',
    'listener.name.broker.ssl.client.auth': 'required',
    'listener.name.controller.ssl.client.auth': 'required',
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': caFile,
    'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
    'super.users': `User:${BROKER};User:admin`,
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
  }
  const formatArgs = withPasswords(passwords)
  const ca = readFileSync(caFile)
  const idFile = join(dir, 'cluster-id')
  if (!existsSync(idFile)) writeFileSync(idFile, newClusterId())
  const clusterId = readFileSync(idFile, 'utf8').trim()

  function start({ id, client, broker, controller }: (typeof places)[number], signal?: AbortSignal) {
    const listeners = [`SASL_SSL://${HOST}:${client}`, `BROKER://${HOST}:${broker}`]
    const name = `kafka-${id}`
    return startNode({
      ...options,
      ...{ name, clusterId, formatArgs, signal, dir: join(dir, name), logFile: join(logDir, `${name}.log`) },
      settings: {
        ...common,
        'node.id': id,
        'broker.rack': `rack-${id}`,
        listeners: [...listeners, `CONTROLLER://${HOST}:${controller}`].join(','),
        'advertised.listeners': listeners.join(','),
      },
      isReady: () => answersKafka(client, (to) => connect({ ...to, ca, servername: HOST })),
    })
  }
  // All at once: one alone has no quorum and never gets ready.
  const nodes = await Promise.all(
    places.map(async (place) => ({
      ...(await start(place, options.signal)),
      /** Starts a node that has ended again, on its port and its data. */
      start: (signal?: AbortSignal) => start(place, signal),
    })),
  )
  const brokers = clients.map((client) => `${HOST}:${client}`).join(',')
  return { brokers, caFile, mechanism: MECHANISM, nodes }
}

/**
 * An authority in `dir`, and the settings of brokers to which clients log in by SCRAM over TLS, at the listener
 * SASL_SSL. The brokers' certificate has this name and these hosts.
 */
export function scramOverTls(dir: string, name: string, hosts: readonly string[]) {
  const authority = createAuthority(dir)
  const { cert, key } = authority.issue('kafka-broker', name, hosts)
  const keyStore = join(dir, 'kafka.pem')
  writeFileSync(keyStore, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'), { mode: 0o600 })
  const settings = {
    'sasl.enabled.mechanisms': MECHANISM,
    'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keyStore,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  }
  return { caFile: authority.ca, settings }
}

/** The arguments that give users their passwords when the data directory is formatted. */
export const withPasswords = (passwords: Record<string, string>, mechanism = MECHANISM) =>
  Object.entries(passwords).flatMap(([user, secret]) => [
    '--add-scram',
    `${mechanism}=[name=${user},password=${secret}]`,
  ])

/** Settings that the nodes of a cluster have in common. `places` has the ports of the controllers. */
export const clusterSettings = (places: readonly { id: number; controller: number }[]) => ({
  ...nodeSettings(places.length),
  'controller.quorum.voters': places.map(({ id, controller }) => `${id}@${HOST}:${controller}`).join(','),
  'unclean.leader.election.enable': false,
})
