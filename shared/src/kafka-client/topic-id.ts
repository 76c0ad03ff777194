import { PreconditionError } from '../runtime/failures.ts'

declare const brand: unique symbol

/**
 * What Kafka gives each topic when it is made, beside its name (KIP-516): another topic of the same name has another
 * id. As Kafka's own tools print it.
 */
export type TopicId = string & { readonly [brand]: 'TopicId' }

/** Undefined for the id that stands for none. */
export function topicIdOf(bytes: Buffer): TopicId | undefined {
  return bytes.some((byte) => byte !== 0) ? (bytes.toString('base64url') as TopicId) : undefined
}

export const bytesOfTopicId = (id: TopicId): Buffer => Buffer.from(id, 'base64url')

/** Throws a PreconditionError when the name of a topic means another one than before. A broker that tells no id proves nothing. */
export function assertSameTopic(before: TopicId | undefined, now: TopicId | undefined, remedy: string): void {
  if (before === undefined || now === undefined || before === now) return
  throw new PreconditionError(
    `another log: the topic had the id ${before}, it has ${now}: ${remedy}`,
    'another-log',
  )
}
