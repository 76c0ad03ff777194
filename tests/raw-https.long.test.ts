import { describeHttpCorners } from './support/http-corners.ts'
import { createTrustedAuthority } from './support/trusted-authority.ts'

describeHttpCorners(() => {
  const { cert, key } = createTrustedAuthority().issue('api')
  return { HTTP_TLS_CERT_FILE: cert, HTTP_TLS_KEY_FILE: key }
})
