import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../local/processes/port.mjs'
import { createAuthority } from '../../local/stores/certificates.mjs'
import { ensureJars } from '../../local/stores/jars.mjs'
import { answersKafka, singleNode, startNode } from '../../local/stores/kafka.mjs'
import { registerProcess } from '../../tests/support/test-run.ts'

const HOST = 'localhost'
const MECHANISM = 'SCRAM-SHA-512'
const LOGIN = { KAFKA_SASL_USERNAME: 'plants', KAFKA_SASL_PASSWORD: 'a-password-for-benchmarks' }

/**
 * A broker that services reach by TLS and SCRAM and that checks ACLs; everything else is as for the other broker. The
 * benchmark itself connects without encryption.
 */
export async function startSecuredKafka(folder: string) {
  const { kafkaClasspath: classpath, java } = await ensureJars({ redis: false })
  const dir = join(folder, 'secured-kafka')
  const authority = createAuthority(join(dir, 'certificates'))
  const { cert, key } = authority.issue('broker', HOST, [HOST])
  const keyStore = join(dir, 'certificates', 'broker.pem')
  writeFileSync(keyStore, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'))
  const [plain, tls, controller] = [await freePort(), await freePort(), await freePort()]
  const listeners = `PLAINTEXT://${HOST}:${plain},SASL_SSL://${HOST}:${tls}`
  const { KAFKA_SASL_USERNAME: user, KAFKA_SASL_PASSWORD: password } = LOGIN
  const { pid } = await startNode({
    ...{ name: 'secured-kafka', dir, logFile: join(dir, 'kafka.log'), classpath, java },
    formatArgs: ['--add-scram', `${MECHANISM}=[name=${user},password=${password}]`],
    settings: {
      ...{ ...singleNode, 'node.id': 1, 'controller.quorum.voters': `1@${HOST}:${controller}` },
      ...{ listeners: `${listeners},CONTROLLER://${HOST}:${controller}`, 'advertised.listeners': listeners },
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT',
      'sasl.enabled.mechanisms': MECHANISM,
      'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config':
        'org.apache.kafka.common.security.scram.ScramLoginModule required;',
      ...{ 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': keyStore },
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': `User:ANONYMOUS;User:${user}`,
    },
    isReady: () => answersKafka(plain),
    onSpawn: (process) => registerProcess(folder, process),
  })
  const secured = { KAFKA_SECURITY_PROTOCOL: 'SASL_SSL', KAFKA_SSL_CA_FILE: authority.ca }
  const settings = { KAFKA_BROKERS: `${HOST}:${tls}`, ...secured, KAFKA_SASL_MECHANISM: MECHANISM, ...LOGIN }
  /** `settings` let a service connect by TLS. */
  return { pid, brokers: `${HOST}:${plain}`, settings }
}
