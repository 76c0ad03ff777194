{{- /* Fails with each value that contradicts another one or is missing. The services check what only they know. */ -}}
{{- define "plant-store.check" -}}
{{- $faults := list }}
{{- $values := .Values }}
{{- $common := list "PLANTS_TOPIC" "PLANTS_PARTITIONS" "PLANTS_TABLE" "EVENT_SOURCE" }}
{{- $programs := list "api" "projector" }}
{{- if eq .Values.topics "job" }}{{ $programs = append $programs "setup" }}{{ end }}
{{- if .Values.plantctl.enabled }}{{ $programs = append $programs "plantctl" }}{{ end }}
{{- if .Values.backup.enabled }}{{ $programs = append $programs "backup" }}{{ end }}
{{- range $program := $programs }}
{{- $arguments := dict "root" $ "program" $program }}
{{- $settings := include "plant-store.settings" $arguments | fromYaml }}
{{- $files := include "plant-store.files" $arguments | fromYaml }}
{{- $names := concat (keys $settings) (keys $files) }}
{{- range concat $values.extraEnv (index $values $program "extraEnv") }}
{{- if has .name $names }}
{{- $faults = append $faults (printf "extraEnv sets %s, which settings or files of %s has already" .name $program) }}
{{- else if has .name (concat $common (list "PORT" "OPS_PORT")) }}
{{- $faults = append $faults (printf "extraEnv sets %s, which %s" .name (has .name $common | ternary "belongs in settings" "the chart has already")) }}
{{- end }}
{{- if and .value (has .name (include "plant-store.secrets" . | fromYamlArray)) }}
{{- $faults = append $faults (printf "extraEnv has the text of %s, which everybody could read in the Deployment: use %s_FILE in files, or valueFrom" .name .name) }}
{{- end }}
{{- if regexMatch "://[^/]*@" (.value | default "") }}
{{- $faults = append $faults (printf "extraEnv has %s with a password, which everybody could read in the Deployment: use valueFrom" .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- range $name, $value := $settings }}
{{- if and (ne $name "REDIS_URL") (regexMatch "://[^/]*@" (toString $value)) }}
{{- $faults = append $faults (printf "%s has a password, which everybody could read in the Deployment: use extraEnv with valueFrom" $name) }}
{{- end }}
{{- end }}
{{- $faults = concat $faults (include "plant-store.faults" (dict "program" $program "settings" $settings "names" $names) | fromYamlArray) }}
{{- end }}
{{- $settings := include "plant-store.settings" (dict "root" . "program" "projector") | fromYaml }}
{{- $partitions := int ($settings.PLANTS_PARTITIONS | default 12) }}
{{- $api := .Values.api }}
{{- $scaling := $api.autoscaling }}
{{- range list
  (list (gt (int .Values.projector.replicas) $partitions) (printf "projector.replicas is %v, but PLANTS_PARTITIONS is %d: each projector beyond that has nothing to do" .Values.projector.replicas $partitions))
  (list (and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas))) "api.autoscaling.minReplicas is more than maxReplicas")
  (list (and $api.ingress.enabled (not $api.ingress.hosts)) "api.ingress is enabled: set api.ingress.hosts")
  (list (and $api.httpRoute.enabled (not $api.httpRoute.parentRefs)) "api.httpRoute is enabled: set api.httpRoute.parentRefs to the Gateway")
  (list (and (eq .Values.topics "strimzi") (not .Values.strimzi.cluster)) "topics is strimzi: set strimzi.cluster to the name of the Kafka resource")
  (list (eq (include "plant-store.table" .) ($settings.PLANTS_TOPIC | default "plants")) "PLANTS_TABLE must not be the topic of the log")
  (list (not (regexMatch "^[a-z][a-z0-9-]{0,42}$" .Release.Name)) "the name of the release must begin with a letter and have at most 43 letters, digits and hyphens")
}}
{{- if first . }}{{ $faults = append $faults (last .) }}{{ end }}
{{- end }}
{{- range $name := $common }}
{{- range $program := $programs }}
{{- if hasKey (index $values $program "settings") $name }}
{{- $faults = append $faults (printf "%s.settings has %s: all programs need the same, so set it in settings" $program $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $faults | uniq }}
{{- fail (printf "missing or contradictory values:\n- %s" (join "\n- " .)) }}
{{- end }}
{{- end }}

{{- /* Settings that are secrets. */ -}}
{{- define "plant-store.secrets" -}}
[KAFKA_SASL_PASSWORD, KAFKA_SASL_OAUTH_CLIENT_SECRET, REDIS_PASSWORD, REDIS_SENTINEL_PASSWORD, PLANT_STORE_TOKEN_DIGESTS]
{{- end }}

{{- /* What is wrong with the settings of one program. Arguments: program, settings, names (of all its variables). */ -}}
{{- define "plant-store.faults" -}}
{{- $program := .program }}
{{- $names := .names }}
{{- $faults := list }}
{{- if not (has "KAFKA_BROKERS" $names) }}
{{- $faults = append $faults "settings needs KAFKA_BROKERS" }}
{{- end }}
{{- $protocol := .settings.KAFKA_SECURITY_PROTOCOL | default "PLAINTEXT" }}
{{- $mechanism := .settings.KAFKA_SASL_MECHANISM }}
{{- if and (hasPrefix "SASL_" $protocol) (not (has "KAFKA_SASL_MECHANISM" $names)) }}
{{- $faults = append $faults (printf "KAFKA_SECURITY_PROTOCOL is %s: settings of %s needs KAFKA_SASL_MECHANISM" $protocol $program) }}
{{- else if and $mechanism (not (hasPrefix "SASL_" $protocol)) }}
{{- $faults = append $faults (printf "KAFKA_SASL_MECHANISM is %s: settings of %s needs KAFKA_SECURITY_PROTOCOL SASL_SSL" $mechanism $program) }}
{{- end }}
{{- $login := list }}
{{- if eq (toString $mechanism) "OAUTHBEARER" }}
{{- $login = list "KAFKA_SASL_OAUTH_TOKEN_URL" "KAFKA_SASL_OAUTH_CLIENT_ID" "KAFKA_SASL_OAUTH_CLIENT_SECRET" }}
{{- else if $mechanism }}
{{- $login = list "KAFKA_SASL_USERNAME" "KAFKA_SASL_PASSWORD" }}
{{- end }}
{{- range $login }}
{{- if not (or (has . $names) (has (printf "%s_FILE" .) $names)) }}
{{- $faults = append $faults (printf "KAFKA_SASL_MECHANISM is %s: %s needs %s" $mechanism $program (regexMatch "(SECRET|PASSWORD)$" . | ternary (printf "files with %s_FILE" .) (printf "settings with %s" .))) }}
{{- end }}
{{- end }}
{{- range $name := $names }}
{{- $other := hasSuffix "_CERT_FILE" $name | ternary (replace "_CERT_FILE" "_KEY_FILE" $name) (replace "_KEY_FILE" "_CERT_FILE" $name) }}
{{- if not (has $other $names) }}
{{- $faults = append $faults (printf "files of %s has %s, which needs %s" $program $name $other) }}
{{- end }}
{{- end }}
{{- if not (has $program (list "setup" "backup")) }}
{{- $places := list }}
{{- range list "REDIS_URL" "REDIS_SENTINELS" "REDIS_CLUSTER_NODES" }}
{{- if has . $names }}{{ $places = append $places . }}{{ end }}
{{- end }}
{{- if ne (len $places) 1 }}
{{- $faults = append $faults (printf "settings needs exactly one of REDIS_URL, REDIS_SENTINELS and REDIS_CLUSTER_NODES; %s has %s" $program (join ", " $places | default "none")) }}
{{- end }}
{{- if ne (has "REDIS_SENTINELS" $names) (has "REDIS_SENTINEL_NAME" $names) }}
{{- $faults = append $faults "REDIS_SENTINELS and REDIS_SENTINEL_NAME belong together: settings needs both or neither" }}
{{- end }}
{{- if regexMatch "^rediss?://[^/]*@" (.settings.REDIS_URL | default "") }}
{{- $faults = append $faults "REDIS_URL has a password, which everybody could read in the Deployment: use REDIS_USERNAME, and REDIS_PASSWORD_FILE in files" }}
{{- end }}
{{- end }}
{{- if eq $program "api" }}
{{- $jwt := list }}
{{- range list "JWT_ISSUER" "JWT_AUDIENCE" "JWT_JWKS_URL" }}
{{- if has . $names }}{{ $jwt = append $jwt . }}{{ end }}
{{- end }}
{{- if has (len $jwt) (list 1 2) }}
{{- $faults = append $faults "JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL belong together: api.settings needs all or none of them" }}
{{- else if not (or $jwt (has "PLANT_STORE_TOKEN_DIGESTS_FILE" $names) (has "PLANT_STORE_TOKEN_DIGESTS" $names)) }}
{{- $faults = append $faults "the api accepts nobody: api.files needs PLANT_STORE_TOKEN_DIGESTS_FILE, or api.settings JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL" }}
{{- end }}
{{- end }}
{{- $faults | toYaml }}
{{- end }}
