type Write = { (details: object, message: string): void; (message: string): void }

/** Any log that takes details and a message. Callers pass no secrets. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write }
