{{- /*
The Deployment of a service and its PodDisruptionBudget. Arguments: root, program, args, replicas (none if something
else decides), ports (in YAML), drainMs.
*/ -}}
{{- define "plant-store.service" -}}
{{- $metadata := include "plant-store.metadata" (dict "root" .root "component" .program) }}
{{- $selector := printf "%s\napp.kubernetes.io/component: %s" (include "plant-store.selector" .root) .program }}
{{- /* Longer than the limit after which a process ends by itself, 9 s after what it waits for its clients. */ -}}
{{- $graceSeconds := add (divf .drainMs 1000 | ceil) 12 }}
{{- $pod := dict "graceSeconds" $graceSeconds "selector" $selector }}
{{- $parts := dict "container" (include "plant-store.service-container" .ports) "pod" (include "plant-store.service-pod" $pod) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- $metadata | nindent 2 }}
spec:
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
  strategy:
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    {{- include "plant-store.pod" (merge $parts .) | nindent 4 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- $metadata | nindent 2 }}
spec:
  maxUnavailable: 1
  # A pod that is not ready serves no client: a drain of its node need not wait for it.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- $selector | nindent 6 }}
{{- end }}

{{- define "plant-store.service-container" -}}
ports:
  {{- with . }}
  {{- . | nindent 2 }}
  {{- end }}
  - { name: operations, containerPort: 3100 }
startupProbe:
  httpGet: { path: /livez, port: operations }
  periodSeconds: 1
  failureThreshold: 60
# Fails only if the process hangs: it waits for Kafka and Redis itself, and ends when it cannot continue.
livenessProbe:
  httpGet: { path: /livez, port: operations }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: operations }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{- define "plant-store.service-pod" -}}
terminationGracePeriodSeconds: {{ .graceSeconds }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- $.selector | nindent 8 }}
  {{- end }}
{{- end }}
