import { describe, expect, it } from 'vitest'
import { batch, openGenerations, P } from '../../../tests/support/opened-generations.ts'
import { BEFORE_LOG } from '../protocol/checkpoint.ts'

describe('data that another program wrote into Redis', () => {
  it.each(['', 'x', '007', '1e3', '-2'])('a checkpoint %j of what is filled is not gone on from', async (text) => {
    const { redis, generations, at, filled } = await openGenerations()
    await filled('odd', 5)
    await redis.hset(`${at}odd:meta`, 'checkpoint', text)
    expect(await generations.startFilling(P, 'next')).toEqual({
      is: 'started',
      generation: 'next',
      checkpoint: BEFORE_LOG,
    })
  })

  it.each([
    ['fold', 'x'],
    ['fold', undefined],
    ['checkpoint', 'x'],
    ['checkpoint', ''],
  ])('a live generation whose %s is %j gives way to one that is verified', async (field, text) => {
    const { redis, generations, at, live, filled } = await openGenerations()
    await live('old', 3)
    if (text === undefined) await redis.hdel(`${at}old:meta`, field)
    else await redis.hset(`${at}old:meta`, field, text)
    const { offset } = await filled('new', 5)
    const call = { generation: 'new', mark: 'mark', expectedLive: 'old', verified: offset }
    expect(await generations.switchTo(P, call)).toEqual({ is: 'switched' })
  })

  it.each(['plants', 'order', 'parked'])('nothing is applied to a key %s of another type', async (kind) => {
    const { redis, readModel, at, live, expectUnchanged } = await openGenerations()
    const checkpoint = await live('old', 3)
    await redis.set(`${at}old:${kind}`, 'text')
    const { records, next } = batch(3, 2)
    const applying = () => readModel.apply(P, checkpoint, next, records, 'unused')
    await expectUnchanged(() => expect(applying()).rejects.toThrow('WRONGTYPE'))
  })

  it('an offset in non-canonical text is an invalid checkpoint, because the scripts compare text', async () => {
    const { redis, readModel, at, live } = await openGenerations()
    const checkpoint = await live('old', 3)
    await redis.hset(`${at}old:meta`, 'checkpoint', '02')
    const { records, next } = batch(3, 2)
    await expect(readModel.apply(P, checkpoint, next, records, 'unused')).rejects.toThrow('"02"')
    await expect(readModel.meta(P)).rejects.toThrow('"02"')
  })
})
