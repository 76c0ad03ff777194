import type { Operation } from './broker-errors.ts'
import { restorePrefix } from './exact-writer.ts'
import { groupPrefix, projectorGroup } from './groups.ts'

/** The operations on one topic, group or transactional id, or on all whose names have this prefix; * is all groups. */
export type Right = {
  resource: 'topic' | 'group' | 'transactional-id'
  name: string
  pattern: 'literal' | 'prefixed'
  operations: readonly Operation[]
}

export const PROGRAMS = ['api', 'projector', 'plantctl', 'setup', 'backup', 'restore'] as const
export type Program = (typeof PROGRAMS)[number]

/**
 * The least rights with which each program does all that it does. Read and Write include Describe. Nothing needs a
 * right on the cluster. `table`: the topic of the table, when there is one.
 */
export function rightsOf(program: Program, topic: string, table?: string): Right[] {
  const on = (name: string, ...operations: Operation[]): Right => ({
    ...{ resource: 'topic', name, pattern: 'literal', operations },
  })
  const onGroup = (name: string, ...operations: Operation[]): Right => ({
    ...{ resource: 'group', name, pattern: 'literal', operations },
  })
  const onGroups = (prefix: string, ...operations: Operation[]): Right => ({
    ...{ resource: 'group', name: `${prefix}-`, pattern: 'prefixed', operations },
  })
  const onTable = (name: string) => on(name, 'Read', 'Write', 'DescribeConfigs')
  const toReplay = (name: string) => onGroups(groupPrefix(name, 'replay'), 'Read', 'Delete')
  const tables = table === undefined ? [] : [table]
  const rights: Record<Program, Right[]> = {
    api: [on(topic, 'Read', 'Write', 'DescribeConfigs'), onGroups(groupPrefix(topic, 'tail'), 'Read')],
    projector: [
      on(topic, 'Read', 'DescribeConfigs'),
      onGroup(projectorGroup(topic), 'Read'),
      ...tables.flatMap((name) => [onTable(name), toReplay(topic), toReplay(name)]),
    ],
    plantctl: [
      on(topic, 'Read', 'DescribeConfigs'),
      onGroups(topic, 'Describe'),
      toReplay(topic),
      onGroups(groupPrefix(topic, 'rebuild'), 'Read', 'Delete'),
      ...tables.flatMap((name) => [onTable(name), toReplay(name)]),
    ],
    setup: [topic, ...tables].map((name) => on(name, 'Create', 'Describe', 'DescribeConfigs')),
    backup: [on(topic, 'Read', 'DescribeConfigs'), toReplay(topic), onGroup('*', 'Describe')],
    restore: [
      on(topic, 'Create', 'Read', 'Write', 'DescribeConfigs', 'AlterConfigs'),
      toReplay(topic),
      onGroup('*', 'Read'),
      { resource: 'transactional-id', name: restorePrefix(topic), pattern: 'prefixed', operations: ['Write'] },
      ...tables.flatMap((name) => [on(name, 'Read', 'DescribeConfigs'), toReplay(name)]),
    ],
  }
  return rights[program]
}

/** The operations that a program needs on each topic, by the topic's name. */
export const topicOperationsOf = (program: Program, topic: string, table?: string): [string, readonly Operation[]][] =>
  rightsOf(program, topic, table).flatMap(({ resource, name, operations }) =>
    resource === 'topic' ? [[name, operations]] : [],
  )
