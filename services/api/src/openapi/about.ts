import { failureTable } from './failure-responses.ts'

/** What the description says of the interface as a whole, in Markdown. */
export function about({
  maxBodyBytes,
  requestTimeoutMs,
}: {
  maxBodyBytes: number
  requestTimeoutMs: number
}) {
  return `\
A store of plants, with a JSON interface over HTTP. \`POST /plants\` with its 200 and its 400 is the operation of the
Plant Store Service Specification. What is marked as an addition goes beyond it.

**Authentication.** Every operation needs \`Authorization: Bearer <ACCESS_TOKEN>\`, and, as an addition, a token that has
the scope told with the operation's security: \`plants:write\` or \`plants:read\`.

**Ids** are int64, and exact from end to end. Many JSON parsers, that of JavaScript among them, round integers beyond
2^53: read answers with one that keeps every digit if you use such ids.

**Texts** are counted in Unicode code points. A surrogate without its pair is refused.

**Fields** that are not described are ignored.

**Limits.** A body has at most ${maxBodyBytes} bytes, and a request must have arrived ${requestTimeoutMs / 1_000} s after it
began. Every create and every read is answered within a deadline that the operator sets, 10 s and 2 s unless set otherwise.

**HEAD** is answered like GET, without the body.

## Errors

Every failure is answered with an Error. Its \`error\` is one of these numbers, which never change their meaning; the first three
digits are the status. The messages are for people, and may say more in an answer than they do here.

${failureTable()}
`
}
