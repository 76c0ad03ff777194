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
  const onTopic = (...operations: Operation[]) => on(topic, ...operations)
  const onGroup = (name: string, ...operations: Operation[]): Right => ({
    ...{ resource: 'group', name, pattern: 'literal', operations },
  })
  const onGroups = (prefix: string, ...operations: Operation[]): Right => ({
    ...{ resource: 'group', name: `${prefix}-`, pattern: 'prefixed', operations },
  })
  const rights: Record<Program, () => Right[]> = {
    api: () => [onTopic('Read', 'Write', 'DescribeConfigs'), onGroups(groupPrefix(topic, 'tail'), 'Read')],
    projector: () => [onTopic('Read', 'DescribeConfigs'), onGroup(projectorGroup(topic), 'Read')],
    plantctl: () => [
      onTopic('Read', 'DescribeConfigs'),
      onGroups(topic, 'Describe'),
      onGroups(groupPrefix(topic, 'replay'), 'Read', 'Delete'),
      onGroups(groupPrefix(topic, 'rebuild'), 'Read', 'Delete'),
    ],
    setup: () => [onTopic('Create', 'Describe', 'DescribeConfigs')],
    backup: () => [
      onTopic('Read', 'DescribeConfigs'),
      onGroups(groupPrefix(topic, 'replay'), 'Read', 'Delete'),
      onGroup('*', 'Describe'),
    ],
    restore: () => [
      onTopic('Create', 'Read', 'Write', 'DescribeConfigs', 'AlterConfigs'),
      onGroups(groupPrefix(topic, 'replay'), 'Read', 'Delete'),
      onGroup('*', 'Read'),
      { resource: 'transactional-id', name: restorePrefix(topic), pattern: 'prefixed', operations: ['Write'] },
    ],
  }
  const tableRights: Record<Program, (table: string) => Right[]> = {
    api: () => [],
    projector: (table) => [
      on(table, 'Read', 'Write', 'DescribeConfigs'),
      ...[topic, table].map((read) => onGroups(groupPrefix(read, 'replay'), 'Read', 'Delete')),
    ],
    plantctl: (table) => [
      on(table, 'Read', 'Write', 'DescribeConfigs'),
      onGroups(groupPrefix(table, 'replay'), 'Read', 'Delete'),
    ],
    setup: (table) => [on(table, 'Create', 'Describe', 'DescribeConfigs')],
    backup: () => [],
    restore: (table) => [
      on(table, 'Read', 'DescribeConfigs'),
      onGroups(groupPrefix(table, 'replay'), 'Read', 'Delete'),
    ],
  }
  return [...rights[program](), ...(table === undefined ? [] : tableRights[program](table))]
}

/** The operations that a program needs on each topic, by the topic's name. */
export const topicOperationsOf = (program: Program, topic: string, table?: string): [string, readonly Operation[]][] =>
  rightsOf(program, topic, table).flatMap(({ resource, name, operations }) =>
    resource === 'topic' ? [[name, operations]] : [],
  )
