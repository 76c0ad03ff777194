import { fileURLToPath } from 'node:url'

/** The folder of the project: what is started runs there. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** What is fetched once and can be fetched again: a current Node, the jars of Kafka, a Redis. */
export const cacheDir = fileURLToPath(new URL('../.local', import.meta.url))
