declare const brand: unique symbol

/**
 * The id that Kafka gives a topic when it is created, in addition to its name (KIP-516): another topic of the same name
 * has another id. In base64url, as Kafka's own tools print it.
 */
export type TopicId = string & { readonly [brand]: 'TopicId' }

export const TOPIC_ID_BYTES = 16

/** Undefined for the zero id, which means that there is none. */
export function topicIdOf(bytes: Buffer): TopicId | undefined {
  return bytes.some((byte) => byte !== 0) ? (bytes.toString('base64url') as TopicId) : undefined
}

export const bytesOfTopicId = (id: TopicId): Buffer => Buffer.from(id, 'base64url')
