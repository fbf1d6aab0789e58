{{/*
berth.access renders what scheduler, controllers and descheduler have in common: the ServiceAccount, the authentication
of clients of the metrics endpoint, and the Role for Leases, which are in kube-system. It requires leases, the Leases that
the component holds. The argument read, a Lease that the component reads, is optional.
*/}}
{{- define "berth.access" -}}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "berth.metadata" . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: berth-{{ .name }}-authentication-reader
  namespace: kube-system
  labels:
    {{- include "berth.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
{{ include "berth.subjects" . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: berth-{{ .name }}
  namespace: kube-system
  labels:
    {{- include "berth.labels" . | nindent 4 }}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ join ", " .leases }}], verbs: [get, update]}
{{- with .read }}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ . }}], verbs: [get]}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: berth-{{ .name }}
  namespace: kube-system
  labels:
    {{- include "berth.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: berth-{{ .name }}}
{{ include "berth.subjects" . }}
{{ end }}
