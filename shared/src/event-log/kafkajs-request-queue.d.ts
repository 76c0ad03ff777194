/** The one internal of kafkajs 2.2.4 that is corrected here; it publishes no types for it. */
declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    pending: unknown[]
    throttledUntil: number
    throttleCheckTimeoutId: NodeJS.Timeout | null
    checkPendingRequests(): void
    scheduleCheckPendingRequests(): void
  }
}
