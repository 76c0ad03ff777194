{{- /* The CronJob of a program that runs plantctl. Arguments: those of the pod. */ -}}
{{- define "plant-store.cron-job" -}}
{{- $own := index .root.Values .program }}
apiVersion: batch/v1
kind: CronJob
metadata:
  {{- include "plant-store.metadata" (dict "root" .root "component" .program) | nindent 2 }}
spec:
  schedule: {{ quote $own.schedule }}
  {{- with $own.timeZone }}
  timeZone: {{ quote . }}
  {{- end }}
  suspend: {{ $own.suspend }}
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 600
  jobTemplate:
    spec:
      # No other run begins before this one ends, also if its pod cannot start.
      activeDeadlineSeconds: {{ int64 $own.activeDeadlineSeconds }}
      # A second verification would find the same differences, and the next backup begins soon.
      backoffLimit: 0
      template:
        {{- include "plant-store.pod" (merge (dict "pod" "restartPolicy: Never") .) | nindent 8 }}
{{- end }}
