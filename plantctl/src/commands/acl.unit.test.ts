import { expect, it } from 'vitest'
import type { CliContext } from '../cli-context.ts'
import { acl } from './acl.ts'

async function linesOf(args: string[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const printed: string[] = []
  const print = async (text: string) => void printed.push(text)
  await acl.run(args, { env, print } as unknown as CliContext)
  return printed.join('').trimEnd().split('\n')
}

// That these rights are enough, and each is needed, rights.secured.test.ts shows.
it('prints a command for each right of each program, also on a table', async () => {
  const lines = await linesOf([], { KAFKA_BROKERS: 'kafka:9092' })
  const start = 'kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:plant-store'
  expect(lines.slice(0, 2)).toEqual([
    `${start}-api --topic plants --resource-pattern-type literal --operation Read --operation Write --operation DescribeConfigs`,
    `${start}-api --group plants-tail- --resource-pattern-type prefixed --operation Read`,
  ])
  for (const user of ['api', 'projector', 'plantctl', 'setup', 'backup', 'restore'])
    expect(lines.some((line) => line.startsWith(`${start}-${user} `))).toBe(true)
  const withTable = await linesOf(['--table', 'on'])
  expect(withTable.filter((line) => line.includes('projector --topic plants.table '))).toHaveLength(1)
  expect(await linesOf([], { PLANTS_TABLE: 'on' })).toEqual(withTable)
})

it('takes another topic, one user for all, and the login of an administrator', async () => {
  const lines = await linesOf(['--topic', 'flora', '--principal', 'User:CN=o', '--command-config', "it's here"])
  for (const line of lines) {
    expect(line).toMatch(
      /--command-config 'it'\\''s here' --add --allow-principal User:CN=o --(topic flora|group ('\*'|flora)|transactional-id flora)/,
    )
  }
})

it.each([
  ['--topic', 'a b'],
  ['--table', 'a b'],
  ['--principal', 'plants'],
])('refuses %s %s', async (...args) => {
  await expect(linesOf(args)).rejects.toThrow(/expected .*Kafka/)
})
