{{- /* Fails with each value that contradicts another one or is missing. The services check what only they know. */ -}}
{{- define "plant-store.check" -}}
{{- $values := .Values }}
{{- $faults := list }}
{{- $common := list "PLANTS_TOPIC" "PLANTS_PARTITIONS" "PLANTS_TABLE" "EVENT_SOURCE" }}
{{- $secrets := list "KAFKA_SASL_PASSWORD" "KAFKA_SASL_OAUTH_CLIENT_SECRET" "REDIS_PASSWORD" "REDIS_SENTINEL_PASSWORD" "PLANT_STORE_TOKEN_DIGESTS" }}
{{- $programs := list "api" "projector" }}
{{- if eq $values.topics "job" }}{{ $programs = append $programs "setup" }}{{ end }}
{{- if $values.plantctl.enabled }}{{ $programs = append $programs "plantctl" }}{{ end }}
{{- if $values.backup.enabled }}{{ $programs = append $programs "backup" }}{{ end }}
{{- range $program := $programs }}
{{- $arguments := dict "root" $ "program" $program }}
{{- $settings := include "plant-store.settings" $arguments | fromYaml }}
{{- $names := concat (keys $settings) (include "plant-store.files" $arguments | fromYaml | keys) }}
{{- range concat $values.extraEnv (index $values $program "extraEnv") }}
{{- $isNew := not (has .name $names) }}
{{- $faults = concat $faults (include "plant-store.broken" (list
  (list (not $isNew) (printf "extraEnv sets %s, which settings or files of %s has already" .name $program))
  (list (and $isNew (has .name $common)) (printf "extraEnv sets %s, which belongs in settings" .name))
  (list (and $isNew (has .name (list "PORT" "OPS_PORT"))) (printf "extraEnv sets %s, which the chart has already" .name))
  (list (and .value (has .name $secrets)) (printf "extraEnv has the text of %s, which everybody could read in the Deployment: use %s_FILE in files, or valueFrom" .name .name))
  (list (regexMatch "://[^/]*@" (.value | default "")) (printf "extraEnv has %s with a password, which everybody could read in the Deployment: use valueFrom" .name))
) | fromYamlArray) }}
{{- $names = append $names .name }}
{{- end }}
{{- range $name, $value := $settings }}
{{- if regexMatch "://[^/]*@" (toString $value) }}
{{- $faults = append $faults (printf "%s has a password, which everybody could read in the Deployment: use %s" $name (eq $name "REDIS_URL" | ternary "REDIS_USERNAME, and REDIS_PASSWORD_FILE in files" "extraEnv with valueFrom")) }}
{{- end }}
{{- end }}
{{- range $name := $common }}
{{- if hasKey (index $values $program "settings") $name }}
{{- $faults = append $faults (printf "%s.settings has %s: all programs need the same, so set it in settings" $program $name) }}
{{- end }}
{{- end }}
{{- $faults = concat $faults (include "plant-store.faults" (dict "program" $program "settings" $settings "names" $names) | fromYamlArray) }}
{{- end }}
{{- $settings := include "plant-store.settings" (dict "root" . "program" "projector") | fromYaml }}
{{- $partitions := int ($settings.PLANTS_PARTITIONS | default 12) }}
{{- $api := $values.api }}
{{- $scaling := $api.autoscaling }}
{{- $faults = concat $faults (include "plant-store.broken" (list
  (list (gt (int $values.projector.replicas) $partitions) (printf "projector.replicas is %v, but PLANTS_PARTITIONS is %d: each projector beyond that has nothing to do" $values.projector.replicas $partitions))
  (list (and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas))) "api.autoscaling.minReplicas is more than maxReplicas")
  (list (and $api.ingress.enabled (not $api.ingress.hosts)) "api.ingress is enabled: set api.ingress.hosts")
  (list (and $api.httpRoute.enabled (not $api.httpRoute.parentRefs)) "api.httpRoute is enabled: set api.httpRoute.parentRefs to the Gateway")
  (list (and (eq $values.topics "strimzi") (not $values.strimzi.cluster)) "topics is strimzi: set strimzi.cluster to the name of the Kafka resource")
  (list (eq (include "plant-store.table" .) ($settings.PLANTS_TOPIC | default "plants")) "PLANTS_TABLE must not be the topic of the log")
  (list (not (regexMatch "^[a-z][a-z0-9-]{0,42}$" .Release.Name)) "the name of the release must begin with a letter and have at most 43 letters, digits and hyphens")
) | fromYamlArray) }}
{{- with $faults | uniq }}
{{- fail (printf "missing or contradictory values:\n- %s" (join "\n- " .)) }}
{{- end }}
{{- end }}

{{- /* The messages of the rules that are broken. Arguments: a list of a condition and a message each. */ -}}
{{- define "plant-store.broken" -}}
{{- $messages := list }}
{{- range . }}{{ if first . }}{{ $messages = append $messages (last .) }}{{ end }}{{ end }}
{{- $messages | toYaml }}
{{- end }}

{{- /* What is wrong with the settings of one program. Arguments: program, settings, names (of all its variables). */ -}}
{{- define "plant-store.faults" -}}
{{- $program := .program }}
{{- $names := .names }}
{{- $protocol := .settings.KAFKA_SECURITY_PROTOCOL | default "PLAINTEXT" }}
{{- $mechanism := .settings.KAFKA_SASL_MECHANISM }}
{{- $login := list }}
{{- if eq (toString $mechanism) "OAUTHBEARER" }}
{{- $login = list "KAFKA_SASL_OAUTH_TOKEN_URL" "KAFKA_SASL_OAUTH_CLIENT_ID" "KAFKA_SASL_OAUTH_CLIENT_SECRET" }}
{{- else if $mechanism }}
{{- $login = list "KAFKA_SASL_USERNAME" "KAFKA_SASL_PASSWORD" }}
{{- end }}
{{- $places := list }}
{{- range list "REDIS_URL" "REDIS_SENTINELS" "REDIS_CLUSTER_NODES" }}
{{- if has . $names }}{{ $places = append $places . }}{{ end }}
{{- end }}
{{- $jwt := list }}
{{- range list "JWT_ISSUER" "JWT_AUDIENCE" "JWT_JWKS_URL" }}
{{- if has . $names }}{{ $jwt = append $jwt . }}{{ end }}
{{- end }}
{{- $needsRedis := not (has $program (list "setup" "backup")) }}
{{- $hasTokens := or (has "PLANT_STORE_TOKEN_DIGESTS_FILE" $names) (has "PLANT_STORE_TOKEN_DIGESTS" $names) }}
{{- $rules := list
  (list (not (has "KAFKA_BROKERS" $names)) "settings needs KAFKA_BROKERS")
  (list (and (hasPrefix "SASL_" $protocol) (not (has "KAFKA_SASL_MECHANISM" $names))) (printf "KAFKA_SECURITY_PROTOCOL is %s: settings of %s needs KAFKA_SASL_MECHANISM" $protocol $program))
  (list (and $mechanism (not (hasPrefix "SASL_" $protocol))) (printf "KAFKA_SASL_MECHANISM is %s: settings of %s needs KAFKA_SECURITY_PROTOCOL SASL_SSL" $mechanism $program))
  (list (and $needsRedis (ne (len $places) 1)) (printf "settings needs exactly one of REDIS_URL, REDIS_SENTINELS and REDIS_CLUSTER_NODES; %s has %s" $program (join ", " $places | default "none")))
  (list (and $needsRedis (ne (has "REDIS_SENTINELS" $names) (has "REDIS_SENTINEL_NAME" $names))) "REDIS_SENTINELS and REDIS_SENTINEL_NAME belong together: settings needs both or neither")
  (list (and (eq $program "api") (has (len $jwt) (list 1 2))) "JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL belong together: api.settings needs all or none of them")
  (list (and (eq $program "api") (not (or $jwt $hasTokens))) "the api accepts nobody: api.files needs PLANT_STORE_TOKEN_DIGESTS_FILE, or api.settings JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL")
}}
{{- range $login }}
{{- $needed := regexMatch "(SECRET|PASSWORD)$" . | ternary (printf "files with %s_FILE" .) (printf "settings with %s" .) }}
{{- $rules = append $rules (list (not (or (has . $names) (has (printf "%s_FILE" .) $names))) (printf "KAFKA_SASL_MECHANISM is %s: %s needs %s" $mechanism $program $needed)) }}
{{- end }}
{{- range $names }}
{{- $other := hasSuffix "_CERT_FILE" . | ternary (replace "_CERT_FILE" "_KEY_FILE" .) (replace "_KEY_FILE" "_CERT_FILE" .) }}
{{- $rules = append $rules (list (not (has $other $names)) (printf "files of %s has %s, which needs %s" $program . $other)) }}
{{- end }}
{{- include "plant-store.broken" $rules }}
{{- end }}
