import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { freePort } from '../processes/port.mjs'
import { createAuthority } from './certificates.mjs'
import { answersKafka, localNode, newClusterId, startNode } from './kafka.mjs'

/**
 * @typedef {import('../processes/process.mjs').RunningProcess} RunningProcess
 *
 * @typedef {object} ClusterOptions
 * @property {string} dir belongs to this cluster alone: certificates and data; made when missing
 * @property {string} logDir
 * @property {string} classpath of the Kafka jars
 * @property {string} [java]
 * @property {() => number | Promise<number>} [nextPort] called for each port; by default a free one
 * @property {Record<string, string>} passwords by user; `admin` may do everything, all others what ACLs allow
 * @property {number} [startTimeoutMs]
 * @property {AbortSignal} [signal] ends the start
 * @property {(running: RunningProcess) => void} [onSpawn] called with each process, before it is ready
 */

const nodeIds = [1, 2, 3]
const host = 'localhost'
const mechanism = 'SCRAM-SHA-512'
/** The brokers' own name, from their certificate. */
const brokerName = 'kafka'

/**
 * Three brokers on this machine, as production has them: each record on three of them, of which two must have it;
 * clients log in by SCRAM over TLS and may do what an ACL allows; brokers know each other by certificates. The first
 * start on `dir` decides the passwords.
 *
 * @param {ClusterOptions} options
 */
export async function startKafkaCluster({ dir, logDir, passwords, nextPort = freePort, ...options }) {
  const authority = createAuthority(join(dir, 'certificates'))
  const keyStore = keyStoreOf(authority, join(dir, 'certificates', 'kafka.pem'))
  // All at once: the ports for clients are the first ones and in a row.
  const places = await Promise.all(
    nodeIds.map(async (id) => ({
      id,
      client: await nextPort(),
      broker: await nextPort(),
      controller: await nextPort(),
    })),
  )
  const common = commonSettings(keyStore, authority.ca, places)
  const formatArgs = Object.entries(passwords).flatMap(([user, password]) => [
    '--add-scram',
    `${mechanism}=[name=${user},password=${password}]`,
  ])
  const clusterId = clusterIdOf(dir)
  const ca = readFileSync(authority.ca)

  /** @param {typeof places[number]} place @param {AbortSignal | undefined} signal */
  const start = ({ id, client, broker, controller }, signal) => {
    const listeners = [`SASL_SSL://${host}:${client}`, `BROKER://${host}:${broker}`]
    const name = `kafka-${id}`
    return startNode({
      ...options,
      ...{ name, clusterId, formatArgs, signal, dir: join(dir, name), logFile: join(logDir, `${name}.log`) },
      settings: {
        ...common,
        'node.id': id,
        'broker.rack': `rack-${id}`,
        listeners: [...listeners, `CONTROLLER://${host}:${controller}`].join(','),
        'advertised.listeners': listeners.join(','),
      },
      isReady: () => answersKafka(client, (to) => connect({ ...to, ca, servername: host })),
    })
  }
  // All at once: one alone has no quorum and never gets ready.
  const nodes = await Promise.all(
    places.map(async (place) => ({
      ...(await start(place, options.signal)),
      /** @param {AbortSignal} [signal] starts a node that has ended again, on its port and its data */
      start: (signal) => start(place, signal),
    })),
  )
  return {
    brokers: places.map(({ client }) => `${host}:${client}`).join(','),
    caFile: authority.ca,
    mechanism,
    nodes,
  }
}

/**
 * @param {ReturnType<typeof createAuthority>} authority
 * @param {string} file
 */
function keyStoreOf(authority, file) {
  const { cert, key } = authority.issue('kafka-broker', brokerName, [host, '127.0.0.1'])
  writeFileSync(file, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'), { mode: 0o600 })
  return file
}

/** @param {string} dir */
function clusterIdOf(dir) {
  const file = join(dir, 'cluster-id')
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    const id = newClusterId()
    writeFileSync(file, `${id}\n`)
    return id
  }
}

/**
 * @param {string} keyStore
 * @param {string} caFile
 * @param {readonly { id: number, controller: number }[]} places
 */
const commonSettings = (keyStore, caFile, places) => ({
  ...clusterSettings(places),
  'listener.security.protocol.map': 'SASL_SSL:SASL_SSL,BROKER:SSL,CONTROLLER:SSL',
  'inter.broker.listener.name': 'BROKER',
  'sasl.enabled.mechanisms': mechanism,
  'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config':
    'org.apache.kafka.common.security.scram.ScramLoginModule required;',
  'listener.name.broker.ssl.client.auth': 'required',
  'listener.name.controller.ssl.client.auth': 'required',
  'ssl.keystore.type': 'PEM',
  'ssl.keystore.location': keyStore,
  'ssl.truststore.type': 'PEM',
  'ssl.truststore.location': caFile,
  'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': `User:${brokerName};User:admin`,
  'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
})

/**
 * What three nodes on a developer's machine have in common: each record on all of them, of which two must have it.
 *
 * @param {readonly { id: number, controller: number }[]} places the ports of the controllers
 */
export const clusterSettings = (places) => ({
  ...localNode,
  'controller.quorum.voters': places.map(({ id, controller }) => `${id}@${host}:${controller}`).join(','),
  'default.replication.factor': places.length,
  'min.insync.replicas': 2,
  'unclean.leader.election.enable': false,
  'offsets.topic.replication.factor': places.length,
  'transaction.state.log.replication.factor': places.length,
  'transaction.state.log.min.isr': 2,
})
