import { STATUS_CODES } from 'node:http'
import { bodyOf, ERRORS, type Failure, statusOf } from '../http/errors.ts'
import { type ResponseHeader, responseHeadersOf } from './headers.ts'
import { FAILURES_OF_EVERY_OPERATION } from './operation.ts'

const ERROR = { $ref: '#/components/schemas/Error' }

type Responses = Record<string, { $ref?: string }>

/** The responses that these operations refer to, for `components.responses`. */
export function sharedResponses(paths: Record<string, Record<string, { responses: Responses }>>) {
  const references = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ responses }) => Object.values(responses).map(({ $ref }) => $ref))
  const shared = byStatus(FAILURES_OF_EVERY_OPERATION).filter(([status]) => references.includes(referenceOf(status)))
  return Object.fromEntries(shared.map(([status, failures]) => [nameOf(status), responseOf(status, failures)]))
}

/**
 * The failure responses of an operation by status, with its possible error numbers. A status without numbers of the
 * operation itself refers to the shared response.
 */
export function failureResponses(own: readonly Failure[]): Record<string, object> {
  const ownStatuses = new Set(own.map(statusOf))
  const all = byStatus([...new Set([...FAILURES_OF_EVERY_OPERATION, ...own])])
  return Object.fromEntries(
    all.map(([status, failures]) => [
      status,
      ownStatuses.has(status) ? responseOf(status, failures) : { $ref: referenceOf(status) },
    ]),
  )
}

export function headerReferences(names: readonly ResponseHeader[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function responseOf(status: number, failures: readonly Failure[]) {
  const title = status === 400 ? 'Unexpected error' : `${STATUS_CODES[status]} (an addition)`
  const headers = [
    // The position of the claim that has the id.
    ...(failures.includes('duplicateId') ? (['Plants-Position'] as const) : []),
    ...responseHeadersOf(status),
  ]
  return {
    description: `${title}\n\n${tableOf(failures)}`,
    headers: headerReferences(headers),
    content: {
      'application/json': {
        schema: ERROR,
        examples: Object.fromEntries(failures.map((failure) => [failure, { value: bodyOf(failure) }])),
      },
    },
  }
}

export function tableOf(failures: readonly Failure[]): string {
  // Markdown takes <…> for HTML and hides it.
  const shown = (message: string) => message.replaceAll('<', '\\<')
  const rows = failures.map((failure) => `| ${ERRORS[failure][0]} | ${shown(ERRORS[failure][1])} |`)
  return ['| error | message |', '|---|---|', ...rows].join('\n')
}

function referenceOf(status: number): string {
  return `#/components/responses/${nameOf(status)}`
}

function nameOf(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(' ', '')
}

function byStatus(failures: readonly Failure[]): [number, Failure[]][] {
  const sorted = failures.toSorted((a, b) => ERRORS[a][0] - ERRORS[b][0])
  const groups = Object.groupBy(sorted, statusOf)
  return Object.entries(groups).map(([status, group]) => [Number(status), group ?? []])
}
