/** An error of kafkajs or several; `type` is the name of the broker's error code. */
type BrokerError = { type?: string; cause?: BrokerError; errors?: BrokerError[]; apiKey?: number }
type Call = { request: { apiKey: number } }

const REFUSAL = /_AUTHORIZATION_FAILED$/

/**
 * Adds the API key of the request to the error codes of the broker: TOPIC_AUTHORIZATION_FAILED alone does not tell
 * which right is missing.
 */
export function withApiKeys(send: (this: unknown, call: Call) => Promise<unknown>) {
  return function sendWithApiKey(this: unknown, call: Call): Promise<unknown> {
    return send.call(this, call).catch((error: BrokerError) => {
      for (const each of [error, ...(error.errors ?? [])])
        if (each.type !== undefined) each.apiKey ??= call.request.apiKey
      throw error
    })
  }
}

type UseBroker = (parameters: object) => Promise<unknown>

/**
 * kafkajs drops the errors of all brokers that it tries. So a missing right looks as if there was no coordinator, or no
 * metadata. This throws the refusal when no broker responds otherwise.
 */
export function withRefusals(withBroker: (this: unknown, use: UseBroker) => Promise<unknown>) {
  return async function withBrokerOrRefusal(this: unknown, use: UseBroker): Promise<unknown> {
    let refusal: BrokerError | undefined
    const result = await withBroker.call(this, async (parameters) => {
      try {
        return await use(parameters)
      } catch (error) {
        if (isRefusal(error as BrokerError)) refusal = error as BrokerError
        throw error
      }
    })
    if (result === null && refusal !== undefined) throw refusal
    return result
  }
}

const isRefusal = (error: BrokerError | undefined): boolean =>
  error !== undefined && (REFUSAL.test(error.type ?? '') || isRefusal(error.cause))
