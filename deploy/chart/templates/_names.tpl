{{/* Arguments of these templates: a dict with root (the chart's context), name (of the component) and values (of the component). */}}

{{- define "berth.labels" -}}
app: berth-{{ .name }}
app.kubernetes.io/name: berth
app.kubernetes.io/component: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "berth.metadata" -}}
name: berth-{{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "berth.labels" . | nindent 2 }}
{{- end }}

{{- define "berth.image" -}}
{{- with .root.Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "berth.subjects" -}}
subjects:
- {kind: ServiceAccount, name: berth-{{ .name }}, namespace: {{ .root.Release.Namespace }}}
{{- end }}

{{/* berth.clusterRoleBinding also requires suffix, which completes the binding's name, and role. */}}
{{- define "berth.clusterRoleBinding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: berth-{{ .name }}{{ .suffix }}
  labels:
    {{- include "berth.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .role | quote }}}
{{ include "berth.subjects" . }}
{{ end }}
