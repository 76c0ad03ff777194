import { pick, type Random } from '../../simulation/random.ts'
import type { Cluster } from '../cluster.ts'
import { BROKER_FAULTS } from './broker-faults.ts'
import type { Fault } from './fault.ts'
import { LINK_FAULTS } from './link-faults.ts'
import { OPERATIONS, UPGRADES } from './operations.ts'
import { PROCESS_FAULTS } from './process-faults.ts'
import { REDIS_FAULTS } from './redis-faults.ts'

const FAULTS = [...PROCESS_FAULTS, ...LINK_FAULTS, ...REDIS_FAULTS, ...BROKER_FAULTS, ...OPERATIONS]

/** Draws one fault. The same numbers draw the same fault. */
export const drawFault = (cluster: Cluster, random: Random): Fault =>
  pick(cluster.hasTwoReleases ? [...FAULTS, ...UPGRADES] : FAULTS, random)(cluster, random)
