import type { FastifyPluginAsync } from 'fastify'
import { stringify } from 'lossless-json'
import { answerConstant, type ConstantAnswer, constantAnswer } from '../http/constant-response.ts'
import type { Document } from './document.ts'

/** GET /openapi.json, open to everybody: it holds no data. */
export const descriptionRoute: FastifyPluginAsync<{ description: () => Document }> = async (
  app,
  { description },
) => {
  let answer: ConstantAnswer
  app.addHook('onReady', async () => {
    // JSON.stringify refuses the bigints of its examples.
    const text = stringify(description()) ?? ''
    answer = constantAnswer(Buffer.from(text), 'application/json')
  })
  app.get('/openapi.json', { config: { scope: 'public' }, schema: { hide: true } }, (request, reply) =>
    answerConstant(answer, request, reply),
  )
}
