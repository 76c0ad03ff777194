import { expect, it } from 'vitest'
import type { CliContext } from '../cli-context.ts'
import { acl } from './acl.ts'

async function linesOf(args: string[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const printed: string[] = []
  const print = async (text: string) => void printed.push(text)
  await acl.run(args, { env, print } as unknown as CliContext)
  return printed.join('').trimEnd().split('\n')
}

it('prints a command for each right of each program', async () => {
  const lines = await linesOf([], { KAFKA_BROKERS: 'kafka:9092' })
  const start = 'kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:plant-store'
  expect(lines.slice(0, 3)).toEqual([
    `${start}-api --topic plants --resource-pattern-type literal --operation Read --operation Write --operation DescribeConfigs`,
    `${start}-api --group plants-tail- --resource-pattern-type prefixed --operation Read`,
    `${start}-projector --topic plants --resource-pattern-type literal --operation Read --operation DescribeConfigs`,
  ])
  expect(lines).toHaveLength(16)
})

it('adds the rights on a table', async () => {
  const lines = await linesOf(['--table', 'on'])
  const added = lines.filter(
    (line) => line.includes('plants.table') || line.includes('projector --group plants-replay-'),
  )
  expect(lines).toHaveLength(16 + added.length)
  expect(added.map((line) => line.replace(/^.*--allow-principal User:plant-store-/, ''))).toEqual([
    'projector --topic plants.table --resource-pattern-type literal --operation Read --operation Write --operation DescribeConfigs',
    'projector --group plants-replay- --resource-pattern-type prefixed --operation Read --operation Delete',
    'projector --group plants.table-replay- --resource-pattern-type prefixed --operation Read --operation Delete',
    'plantctl --topic plants.table --resource-pattern-type literal --operation Read --operation Write --operation DescribeConfigs',
    'plantctl --group plants.table-replay- --resource-pattern-type prefixed --operation Read --operation Delete',
    'setup --topic plants.table --resource-pattern-type literal --operation Create --operation Describe --operation DescribeConfigs',
    'restore --topic plants.table --resource-pattern-type literal --operation Read --operation DescribeConfigs',
    'restore --group plants.table-replay- --resource-pattern-type prefixed --operation Read --operation Delete',
  ])
  expect(await linesOf([], { PLANTS_TABLE: 'on' })).toEqual(lines)
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
