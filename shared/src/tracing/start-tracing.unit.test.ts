import { expect, it } from 'vitest'
import { reporter } from './start-tracing.ts'

it.each([
  [['Received Partial Success response:', '{"rejectedSpans":"5"}'], /response: \{"rejectedSpans":"5"\}$/],
  [['OTLPExportDelegate', 'No success', new RangeError('at 3'), Buffer.from('<html>')], /No success RangeError: at 3$/],
  [[`{"message":"Unauthorized","data":"${'x'.repeat(4_194_304)}"}`], /^tracing: \{"message":"Unauthorized".{1,2000}$/],
])('what the SDK reports is logged with the reason, but not with all that a collector has sent', (parts, expected) => {
  const lines: string[] = []
  reporter({ warn: (...line: unknown[]) => lines.push(String(line[1])) })(...parts)
  expect(lines).toEqual([expect.stringMatching(expected)])
})
