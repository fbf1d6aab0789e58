package podvalidation

import (
	"testing"
)

func TestContainersAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"a plain pod is accepted", ``, nil},
		{"a pod needs containers", `spec: {containers: []}`, []string{`spec.containers: Required value`}},
		{"a container needs a name and an image", `spec: {containers: [{name: ""}]}`,
			[]string{`spec.containers[0].name: Required value`, `spec.containers[0].image: Required value`}},
		{"two containers cannot share a name", `spec: {containers: [{name: a, image: x}, {name: a, image: x}]}`,
			[]string{`spec.containers[1].name: Duplicate value: "a"`}},
		{"an init container cannot take a container's name", `spec: {initContainers: [{name: c, image: x}]}`,
			[]string{`spec.initContainers[0].name: Duplicate value: "c"`}},
		{"an image name has no surrounding whitespace", `spec: {containers: [{name: a, image: "x "}]}`,
			[]string{`spec.containers[0].image: Invalid value: "x ": must not have leading or trailing whitespace`}},
		{"an init container has no probes", `spec: {initContainers: [{name: i, image: x, livenessProbe: {exec: {command: [a]}}}]}`,
			[]string{`spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always`}},
		{"a sidecar has probes", `spec: {initContainers: [{name: i, image: x, restartPolicy: Always, livenessProbe: {exec: {command: [a]}}}]}`, nil},
		{"a new pod has no ephemeral containers", `spec: {ephemeralContainers: [{name: e, image: x}]}`,
			[]string{`spec.ephemeralContainers: Forbidden: cannot be set on create`}},
		{"an ephemeral container opens no ports", `spec: {ephemeralContainers: [{name: e, image: x, ports: [{containerPort: 1}]}]}`,
			[]string{`spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container`,
				`spec.ephemeralContainers: Forbidden: cannot be set on create`}},
		{"restart rules need a restart policy", `spec: {containers: [{name: c, image: x, restartPolicyRules: [{action: Restart}]}]}`,
			[]string{`spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used`}},
	})
}

func TestContainerPortsAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"port 0 is a missing port", `spec: {containers: [{name: c, image: x, ports: [{containerPort: 0}]}]}`,
			[]string{`spec.containers[0].ports[0].containerPort: Required value`}},
		{"a host port is used once",
			`spec: {containers: [{name: c, image: x, ports: [{containerPort: 1, hostPort: 9}]}, {name: d, image: x, ports: [{containerPort: 2, hostPort: 9}]}]}`,
			[]string{`spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//9"`}},
		{"with hostNetwork the host port defaults to the container port", `spec: {hostNetwork: true, containers: [{name: c, image: x, ports: [{containerPort: 1}]}]}`, nil},
		{"a port's name has a letter", `spec: {containers: [{name: c, image: x, ports: [{containerPort: 1, name: "12"}]}]}`,
			[]string{`spec.containers[0].ports[0].name: Invalid value: "12": must contain at least one letter (a-z)`}},
	})
}

func TestContainerEnvIsValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"the name of a variable may contain any character except =", `spec: {containers: [{name: c, image: x, env: [{name: "a b.c", value: v}]}]}`, nil},
		{"a field reference needs a supported field", `spec: {containers: [{name: c, image: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.foo}}}]}]}`,
			[]string{`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo`}},
		{"all labels are for volumes only", `spec: {containers: [{name: c, image: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]}]}`,
			[]string{`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`}},
		{"a single label is supported", `spec: {containers: [{name: c, image: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['a/b']"}}}]}]}`, nil},
		{"cpu divisor is 1 or 1m", `spec: {containers: [{name: c, image: x, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "2"}}}]}]}`,
			[]string{`spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`}},
		{"envFrom needs a source", `spec: {containers: [{name: c, image: x, envFrom: [{prefix: A}]}]}`,
			[]string{"spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"}},
	})
}

func TestContainerHandlersAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"exec needs a command", `spec: {containers: [{name: c, image: x, livenessProbe: {exec: {}}}]}`,
			[]string{`spec.containers[0].livenessProbe.exec.command: Required value`}},
		{"a scheme is HTTP or HTTPS", `spec: {containers: [{name: c, image: x, readinessProbe: {httpGet: {port: 1, scheme: FTP}}}]}`,
			[]string{`spec.containers[0].readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`}},
		{"port 0 cannot be probed", `spec: {containers: [{name: c, image: x, startupProbe: {tcpSocket: {port: 0}}}]}`,
			[]string{`spec.containers[0].startupProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive`}},
		{"a preStop sleep is shorter than the grace period", `spec: {containers: [{name: c, image: x, lifecycle: {preStop: {sleep: {seconds: 31}}}}]}`,
			[]string{`spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`}},
		{"the grace period of a probe is positive", `spec: {containers: [{name: c, image: x, livenessProbe: {tcpSocket: {port: 1}, terminationGracePeriodSeconds: 0}}]}`,
			[]string{`spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`}},
	})
}
