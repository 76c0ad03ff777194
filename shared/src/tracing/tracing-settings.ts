import { type Static, type TObject, Type } from 'typebox'

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
]
const isUrl = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? '')
const Endpoint = Type.Optional(
  Type.Refine(Type.String({ expected: 'an http(s) URL such as http://localhost:4318', secret: true }), isUrl),
)
const Protocol = Type.Optional(Type.Enum(['grpc', 'http/protobuf', 'http/json']))
const isRatio = (text: string) => /^(0|1|[01]?\.\d+|1\.0+)$/.test(text) && Number(text) <= 1

/**
 * Variables of OpenTelemetry's SDK, documented there. These are checked, because the SDK would ignore a wrong one with a
 * warning, or are read here as well. The SDK reads all its variables from the environment itself.
 */
export const SDK_SETTINGS = {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: Protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: Protocol,
  OTEL_TRACES_SAMPLER: Type.Optional(Type.Enum(SAMPLERS)),
  OTEL_TRACES_SAMPLER_ARG: Type.Optional(
    Type.Refine(Type.String({ expected: 'a part of all traces, from 0 to 1' }), isRatio),
  ),
  OTEL_SERVICE_NAME: Type.Optional(Type.String()),
  OTEL_RESOURCE_ATTRIBUTES: Type.Optional(Type.String()),
  OTEL_SDK_DISABLED: Type.Optional(Type.Enum(['true', 'false'])),
  OTEL_TRACES_EXPORTER: Type.Optional(Type.Enum(['otlp', 'none'])),
}

export const TRACING_SETTINGS = { OTEL_EXPORTER_OTLP_ENDPOINT: Endpoint, ...SDK_SETTINGS }

export type TracingSettings = Static<TObject<typeof TRACING_SETTINGS>>

/** True if spans are exported: an endpoint is set, and nothing turns them off. */
export function isTracingOn(settings: TracingSettings): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = settings
  if (settings.OTEL_SDK_DISABLED === 'true' || settings.OTEL_TRACES_EXPORTER === 'none') return false
  return (all ?? traces) !== undefined
}
