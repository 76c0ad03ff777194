import type { Operation } from './broker-errors.ts'
import { groupPrefix, projectorGroup } from './groups.ts'

/** The operations on one topic or group, or on all groups whose names have this prefix. */
export type Right = {
  resource: 'topic' | 'group'
  name: string
  pattern: 'literal' | 'prefixed'
  operations: readonly Operation[]
}

export const PROGRAMS = ['api', 'projector', 'plantctl', 'setup'] as const
export type Program = (typeof PROGRAMS)[number]

/**
 * The least rights with which each program does all that it does. Read and Write include Describe. Nothing needs a
 * right on the cluster.
 */
export function rightsOf(program: Program, topic: string): Right[] {
  const onTopic = (...operations: Operation[]): Right => ({
    ...{ resource: 'topic', name: topic, pattern: 'literal', operations },
  })
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
  }
  return rights[program]()
}

/** The operations that a program needs on the topic. */
export const topicOperationsOf = (program: Program, topic: string): readonly Operation[] =>
  rightsOf(program, topic).flatMap(({ resource, operations }) => (resource === 'topic' ? operations : []))
