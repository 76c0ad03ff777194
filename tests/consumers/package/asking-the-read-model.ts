import { type FirstClaims, inReadModel } from '@plant-store/shared/consumer/read-model'

const firstClaims: FirstClaims = inReadModel({ redisUrl: 'redis://localhost:6379' })
console.log(typeof firstClaims.open)
