{{- define "plant-store.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ quote .Release.Name }}
{{- end }}

{{- define "plant-store.labels" -}}
{{ include "plant-store.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The metadata of an object. Arguments: root, component (none of an object for all of them), name (by default theirs). */ -}}
{{- define "plant-store.metadata" -}}
name: {{ quote (.name | default (printf "%s-%s" .root.Release.Name .component)) }}
labels:
  {{- include "plant-store.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
{{- end }}

{{- /* The image of all programs. */ -}}
{{- define "plant-store.image" -}}
{{- with .Values.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}
