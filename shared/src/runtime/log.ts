type Write = { (details: object, message: string): void; (message: string): void }

/** Where parts tell what happens to them: any log that takes details and a message. No secret is ever given to it. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write }
