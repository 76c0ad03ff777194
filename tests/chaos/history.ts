/** Times are those of `performance.now()` in the recording process. */
export type Requested = {
  startedAt: number
  endedAt: number
  api: string
  /** When the process that responded was started; absent if the api was started again during the request. */
  since?: number
}
/** `status` is absent when no response came, `error` for a success; `responseName` is the name of the plant in it. */
export type Responded = { status?: number; error?: number; position?: string; responseName?: string }

/** One attempt to create a plant. All attempts of a plant have its name, which no other plant of the run has. */
export type CreateRequest = { kind: 'create'; id: number; partition: number; name: string } & Requested & Responded
/** `sent` is the position that the request carried. */
export type ReadRequest = { kind: 'read'; id: number; partition: number; sent?: string } & Requested & Responded
/** A list from its first page on, all from one api; not complete if a page failed, or the run ended before the last. */
export type ListRequest = {
  kind: 'list'
  items: readonly { id: number; name: string }[]
  isComplete: boolean
} & Requested
export type Request = CreateRequest | ReadRequest | ListRequest

/** Some creates have a name that Kafka may refuse, as records above a limit. */
const LARGE_NAME_CHARACTERS = 900
export const largeName = (name: string) => `${name} ${'\u{1f33f}'.repeat(LARGE_NAME_CHARACTERS)}`
export const isLarge = ({ name }: { name: string }) => name.length > LARGE_NAME_CHARACTERS
