import { readFileSync } from 'node:fs'

/** The help of a program: the commands that its README lists first. */
export function helpOf(readme: URL): string {
  const [, commands = ''] = readFileSync(readme, 'utf8').split('```sh\n')
  return `${commands.split('```')[0]}\nSee ${readme.pathname}.\n`
}
