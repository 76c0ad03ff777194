import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../processes/whole-file.mjs'

/**
 * `run.json`: what other programs need to know of a running `npm start`. It exists from the moment both services are
 * ready until the orderly end, and only the user can read it, because it holds the token.
 *
 * @typedef {object} Run
 * @property {string} url of the api
 * @property {string[]} urls of all apis
 * @property {Record<string, string>} opsUrls by service
 * @property {string} token
 * @property {string | undefined} kafkaBrokers
 * @property {string | undefined} redisUrl undefined when `storeSettings` say how to find it
 * @property {Record<string, string>} storeSettings what else a client of the stores needs, by the names of the settings
 * @property {string} topic
 * @property {number} partitions
 * @property {string} table the setting PLANTS_TABLE
 * @property {string | undefined} dockerProject the compose project of Kafka and Redis, when they are containers
 * @property {Pids} pids
 *
 * The pids of the current processes by name, also after a restart: launcher, api, projector, kafka, redis. A Kafka or
 * Redis that this start did not start as a process is left out; names in a cluster have numbers.
 * @typedef {Record<string, number>} Pids
 */

/**
 * @param {string} localDir
 * @returns {Run | undefined}
 */
export function readRun(localDir) {
  const file = join(localDir, 'run.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/**
 * @param {string} localDir
 * @param {Run} run
 */
export function writeRun(localDir, run) {
  writeWhole(join(localDir, 'run.json'), `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 })
}

/** @param {string} localDir */
export function removeRun(localDir) {
  rmSync(join(localDir, 'run.json'), { force: true })
}
