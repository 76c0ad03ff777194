import { readFileSync, writeFileSync } from 'node:fs'

// The corpus of a target is a file of JSON strings, one input a line; each character is one byte.

/** The inputs of a target. Throws for a target without a corpus. */
export function readCorpus(target: string): Buffer[] {
  const lines = readFileSync(fileOf(target), 'utf8').trimEnd().split('\n')
  return lines.map((line) => Buffer.from(JSON.parse(line), 'latin1'))
}

export function writeCorpus(target: string, inputs: readonly Buffer[]): void {
  const lines = inputs.map((input) => `${JSON.stringify(input.toString('latin1'))}\n`)
  writeFileSync(fileOf(target), lines.sort().join(''))
}

function fileOf(target: string): URL {
  return new URL(`corpus/${target}.jsonl`, import.meta.url)
}
