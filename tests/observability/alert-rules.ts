import { readFileSync } from 'node:fs'

/** The recording and alert rules for operators. */
export const RULES = readFileSync(new URL('../../deploy/observability/rules.yml', import.meta.url), 'utf8')

/** The names of the alerts, with their runbooks. */
export const ALERTS = new Map(
  [...RULES.matchAll(/- alert: (\w+)\n[\s\S]*?runbook_url: (\S+)/g)].map(([, name = '', runbook = '']) => [
    name,
    runbook,
  ]),
)
