import { join } from 'node:path'
import { freePort } from '../../local/processes/port.ts'
import { ensureKafka } from '../../local/stores/jars.ts'
import { answersKafka, singleNode, startNode } from '../../local/stores/kafka.ts'
import { MECHANISM, scramOverTls, withPasswords } from '../../local/stores/kafka-cluster.ts'

const HOST = 'localhost'
const USER = 'plants'
const PASSWORD = 'a-password-for-benchmarks'

/**
 * A broker that services reach by TLS and SCRAM and that checks ACLs; everything else is as for the other broker. The
 * benchmark itself connects without encryption.
 */
export async function startSecuredKafka(folder: string) {
  const program = await ensureKafka()
  const dir = join(folder, 'secured-kafka')
  const { caFile, settings: scram } = scramOverTls(join(dir, 'certificates'), HOST, [HOST])
  const [plain, tls, controller] = [await freePort(), await freePort(), await freePort()]
  const listeners = `PLAINTEXT://${HOST}:${plain},SASL_SSL://${HOST}:${tls}`
  const { pid } = await startNode({
    ...{ name: 'secured-kafka', dir, logFile: join(dir, 'kafka.log'), ...program },
    formatArgs: withPasswords({ [USER]: PASSWORD }),
    settings: {
      ...{ ...singleNode, ...scram, 'node.id': 1, 'controller.quorum.voters': `1@${HOST}:${controller}` },
      ...{ listeners: `${listeners},CONTROLLER://${HOST}:${controller}`, 'advertised.listeners': listeners },
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT',
      'super.users': `User:ANONYMOUS;User:${USER}`,
    },
    isReady: () => answersKafka(plain),
  })
  const settings = {
    ...{ KAFKA_BROKERS: `${HOST}:${tls}`, KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SSL_CA_FILE: caFile },
    ...{ KAFKA_SASL_MECHANISM: MECHANISM, KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD: PASSWORD },
  }
  /** `settings` let a service connect by TLS. */
  return { pid, brokers: `${HOST}:${plain}`, settings }
}
