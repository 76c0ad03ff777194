{{- /*
The pod of one program. Arguments: root, program, args (those of the image unless given), and more of the container, its
environment and the pod, in YAML: container, env, pod; claim (of a volume at /backup).
*/ -}}
{{- define "plant-store.pod" }}
{{- $root := .root }}
{{- $own := index $root.Values .program }}
{{- $settings := include "plant-store.needed" (dict "program" .program "of" (include "plant-store.settings" . | fromYaml)) | fromYaml }}
{{- $files := include "plant-store.needed" (dict "program" .program "of" (include "plant-store.files" . | fromYaml)) | fromYaml -}}
metadata:
  labels:
    {{- include "plant-store.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .program }}
    {{- if has .program (list "api" "projector") }}
    plant-store/operations-port: "true"
    {{- end }}
spec:
  {{- with .pod }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $root.Values.pod }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  automountServiceAccountToken: false
  # Without the variables that describe the other services of the namespace: KAFKA_PORT and the like.
  enableServiceLinks: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  containers:
    # The alert PlantStorePreconditionFailed knows the name.
    - name: plant-store-{{ .program }}
      image: {{ include "plant-store.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      # Kubernetes keeps the last log line, which says why.
      terminationMessagePolicy: FallbackToLogsOnError
      {{- with .args }}
      args: {{ toJson . }}
      {{- end }}
      env:
        {{- with .env }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- range $name, $value := $settings }}
        - { name: {{ $name }}, value: {{ quote $value }} }
        {{- end }}
        {{- range $name, $_ := $files }}
        - { name: {{ $name }}, value: /run/plant-store/{{ include "plant-store.file-name" $name }} }
        {{- end }}
        {{- with concat $root.Values.extraEnv $own.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .container }}
      {{- . | nindent 6 }}
      {{- end }}
      resources: {{ toJson $own.resources }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      {{- if or $files .claim }}
      volumeMounts:
        {{- if $files }}
        - { name: files, mountPath: /run/plant-store, readOnly: true }
        {{- end }}
        {{- if .claim }}
        - { name: backup, mountPath: /backup }
        {{- end }}
      {{- end }}
  {{- if or $files .claim }}
  volumes:
    {{- with $files }}
    - name: files
      projected:
        defaultMode: 0440
        sources:
          {{- range $name, $file := . }}
          - {{ hasKey $file "existingConfigMap" | ternary "configMap" "secret" }}:
              name: {{ $file.existingConfigMap | default $file.existingSecret }}
              items: [{ key: {{ quote $file.key }}, path: {{ include "plant-store.file-name" $name }} }]
          {{- end }}
    {{- end }}
    {{- with .claim }}
    - { name: backup, persistentVolumeClaim: { claimName: {{ . }} } }
    {{- end }}
  {{- end }}
{{- end }}
