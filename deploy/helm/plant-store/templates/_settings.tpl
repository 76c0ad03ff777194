{{- /*
The settings of one program, as a map of names to texts; an empty one counts as unset. YAML reads `on` as true, and
Helm a large number as a float. Arguments: root, program.
*/ -}}
{{- define "plant-store.settings" -}}
{{- $values := .root.Values }}
{{- $given := mergeOverwrite (include "plant-store.strimzi" . | fromYaml).settings (deepCopy ($values.settings | default dict)) (index $values .program "settings") }}
{{- $settings := dict }}
{{- range $name, $value := $given }}
{{- if kindIs "bool" $value }}
{{- $value = hasPrefix "OTEL_" $name | ternary (toString $value) (ternary "on" "off" $value) }}
{{- else if and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{- $value = int64 $value }}
{{- end }}
{{- with toString $value }}{{ $_ := set $settings $name . }}{{ end }}
{{- end }}
{{- $settings | toYaml }}
{{- end }}

{{- /* The files of one program: the names of settings to the keys of Secrets and ConfigMaps. Arguments: root, program. */ -}}
{{- define "plant-store.files" -}}
{{- $files := (include "plant-store.strimzi" . | fromYaml).files }}
{{- range list .root.Values.files (index .root.Values .program "files") }}
{{- range $name, $file := . }}{{ $_ := set $files $name $file }}{{ end }}
{{- end }}
{{- $files | toYaml }}
{{- end }}

{{- /* What of them a program needs: the setup and the backup do not know Redis. Arguments: program, of (a map). */ -}}
{{- define "plant-store.needed" -}}
{{- $needed := dict }}
{{- range $name, $value := .of }}
{{- if or (not (has $.program (list "setup" "backup"))) (regexMatch "^(KAFKA|PLANTS|NODE)_" $name) }}
{{- $_ := set $needed $name $value }}
{{- end }}
{{- end }}
{{- $needed | toYaml }}
{{- end }}

{{- define "plant-store.file-name" -}}
{{ trimSuffix "_FILE" . | lower | replace "_" "-" }}
{{- end }}

{{- /* The name of the topic of the table; empty without one. */ -}}
{{- define "plant-store.table" -}}
{{- $settings := include "plant-store.settings" (dict "root" . "program" "projector") | fromYaml }}
{{- $table := $settings.PLANTS_TABLE | default "off" }}
{{- if eq $table "on" }}{{ $settings.PLANTS_TOPIC | default "plants" }}.table{{ else if ne $table "off" }}{{ $table }}{{ end }}
{{- end }}

{{- /* With Strimzi, the login of one program follows from the name of its KafkaUser. Arguments: root, program. */ -}}
{{- define "plant-store.strimzi" -}}
{{- if and (eq .root.Values.topics "strimzi") (ne .program "setup") }}
{{- $user := printf "%s-%s" .root.Release.Name .program }}
{{- $ca := printf "%s-cluster-ca-cert" .root.Values.strimzi.cluster }}
{{- if eq .root.Values.strimzi.authentication "tls" }}
settings:
  KAFKA_SECURITY_PROTOCOL: SSL
files:
  KAFKA_SSL_CA_FILE: { existingSecret: {{ $ca }}, key: ca.crt }
  KAFKA_SSL_CERT_FILE: { existingSecret: {{ $user }}, key: user.crt }
  KAFKA_SSL_KEY_FILE: { existingSecret: {{ $user }}, key: user.key }
{{- else }}
settings:
  KAFKA_SECURITY_PROTOCOL: SASL_SSL
  KAFKA_SASL_MECHANISM: SCRAM-SHA-512
  KAFKA_SASL_USERNAME: {{ $user }}
files:
  KAFKA_SSL_CA_FILE: { existingSecret: {{ $ca }}, key: ca.crt }
  KAFKA_SASL_PASSWORD_FILE: { existingSecret: {{ $user }}, key: password }
{{- end }}
{{- else }}
{ settings: {}, files: {} }
{{- end }}
{{- end }}
