{{/* berth.workload requires args, port and, if a ConfigMap is mounted at /etc/berth, config (the volume's name) and checksum. */}}
{{- define "berth.workload" -}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "berth.metadata" . | nindent 2 }}
spec:
  replicas: {{ .values.replicas }}
  selector: {matchLabels: {app: berth-{{ .name }}}}
  template:
    metadata:
      labels:
        {{- include "berth.labels" . | nindent 8 }}
      {{- with .checksum }}
      annotations: {checksum/config: {{ . }}}
      {{- end }}
    spec:
      serviceAccountName: berth-{{ .name }}
      priorityClassName: {{ .root.Values.priorityClassName }}
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .root.Values.topologySpread.keys }}
      topologySpreadConstraints:
      {{- range . }}
      - topologyKey: {{ . }}
        maxSkew: 1
        whenUnsatisfiable: {{ $.root.Values.topologySpread.whenUnsatisfiable }}
        labelSelector: {matchLabels: {app: berth-{{ $.name }}}}
      {{- end }}
      {{- end }}
      containers:
      - name: {{ .name }}
        image: {{ include "berth.image" . }}
        imagePullPolicy: {{ .root.Values.image.pullPolicy }}
        args: {{- toYaml (concat .args .values.extraArgs) | nindent 8 }}
        ports:
        - {name: https-metrics, containerPort: {{ .port }}}
        livenessProbe:
          httpGet: {path: /livez, port: https-metrics, scheme: HTTPS}
        readinessProbe:
          httpGet: {path: /readyz, port: https-metrics, scheme: HTTPS}
        resources: {{- toYaml .values.resources | nindent 10 }}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        {{- with .config }}
        volumeMounts:
        - {name: {{ . }}, mountPath: /etc/berth, readOnly: true}
        {{- end }}
      {{- with .config }}
      volumes:
      - name: {{ . }}
        configMap: {name: berth-{{ $.name }}}
      {{- end }}
{{- if .root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "berth.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {matchLabels: {app: berth-{{ .name }}}}
{{- end }}
{{- if .root.Values.service.enabled }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "berth.metadata" . | nindent 2 }}
spec:
  selector: {app: berth-{{ .name }}}
  ports:
  - {name: https-metrics, port: {{ .port }}, targetPort: https-metrics}
{{- end }}
{{- if .root.Values.serviceMonitor.enabled }}
{{- if not .root.Values.service.enabled }}
{{- fail "serviceMonitor.enabled: requires service.enabled, whose Services it selects" }}
{{- end }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  {{- include "berth.metadata" . | nindent 2 }}
    {{- with .root.Values.serviceMonitor.labels }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  selector: {matchLabels: {app: berth-{{ .name }}}}
  endpoints:
  - port: https-metrics
    scheme: https
    interval: {{ .root.Values.serviceMonitor.interval }}
    bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
    # The components create their serving certificates themselves.
    tlsConfig: {insecureSkipVerify: true}
{{- end }}
{{ end }}
