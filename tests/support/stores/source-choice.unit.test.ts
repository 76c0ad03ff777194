import { describe, expect, it } from 'vitest'
import { Failure } from '../../../local/processes/failure.mjs'
import { chooseSource } from './source-choice.ts'

/** The choice, and the printed lines. */
async function choose(requested: string | undefined, obstacle: string | undefined) {
  const lines: string[] = []
  const source = await chooseSource(
    requested,
    async () => obstacle,
    (line) => lines.push(line),
  )
  return { source, lines }
}

const NO_DOCKER = 'no container runtime responses'

describe('where the tests get Kafka and Redis from', () => {
  it.each([undefined, ''])('is Docker where it serves (PLANT_STORE_TEST_WITH is %j)', async (requested) => {
    const lines = ['The tests run Kafka and Redis in Docker.']
    expect(await choose(requested, undefined)).toEqual({ source: 'docker', lines })
  })

  it('is processes where Docker does not work, and the line has the reason', async () => {
    const lines = [`The tests run Kafka and Redis as processes: ${NO_DOCKER}.`]
    expect(await choose(undefined, NO_DOCKER)).toEqual({ source: 'processes', lines })
  })

  it.each([undefined, NO_DOCKER])('is processes when they are requested (Docker: %j)', async (obstacle) => {
    expect((await choose('processes', obstacle)).source).toBe('processes')
  })

  it('is Docker on request, or the run fails with the reason', async () => {
    expect((await choose('docker', undefined)).source).toBe('docker')
    await expect(choose('docker', NO_DOCKER)).rejects.toThrow(Failure)
    await expect(choose('docker', NO_DOCKER)).rejects.toThrow(NO_DOCKER)
  })

  it('is nothing else: the message names the possible values', async () => {
    await expect(choose('podman', undefined)).rejects.toThrow(
      'PLANT_STORE_TEST_WITH=podman: expected docker or processes',
    )
  })
})
