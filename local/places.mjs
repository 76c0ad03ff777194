import { fileURLToPath } from 'node:url'

/** The folder of the project, and the working directory of what is started. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** Downloads that can be repeated: a current Node, the jars of Kafka, a Redis. */
export const cacheDir = fileURLToPath(new URL('../.local', import.meta.url))
