package podvalidation

import (
	"testing"
)

func TestVolumesAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"a host path must not contain ..", `spec: {volumes: [{name: v, hostPath: {path: /a/../b}}]}`,
			[]string{`spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..'`}},
		{"a config map volume needs a name", `spec: {volumes: [{name: v, configMap: {}}]}`,
			[]string{`spec.volumes[0].configMap.name: Required value`}},
		{"an invalid volume cannot be mounted", `spec: {volumes: [{name: v, secret: {}}], containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /a}]}]}`,
			[]string{`spec.volumes[0].secret.secretName: Required value`, `spec.containers[0].volumeMounts[0].name: Not found: "v"`}},
		{"a token needs a service account", `spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}`,
			[]string{`spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`}},
		{"a token is valid for at least ten minutes", `spec: {serviceAccountName: s, volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 60}}]}}]}`,
			[]string{`spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes`}},
		{"a projected path is unique", `spec: {volumes: [{name: v, projected: {sources: [{secret: {name: s, items: [{key: k, path: f}]}}, {configMap: {name: m, items: [{key: k, path: f}]}}]}}]}`,
			[]string{`spec.volumes[0].projected: Invalid value: "m": conflicting duplicate paths`}},
		{"a claim template must request storage", `spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]}`,
			[]string{`spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`}},
		{"an image volume needs a reference", `spec: {volumes: [{name: v, image: {}}]}`,
			[]string{`spec.volumes[0].image.reference: Required value`}},
		{"an NFS path is absolute", `spec: {volumes: [{name: v, nfs: {server: s, path: a}}]}`,
			[]string{`spec.volumes[0].nfs.path: Invalid value: "a": must be an absolute path`}},
	})
}

func TestVolumeMountsAreValidated(t *testing.T) {
	volume := `spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: x, `
	checkCases(t, []validationCase{
		{"a mount path is unique", volume + `volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]}]}`,
			[]string{`spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique`}},
		{"a subPath is relative; the error names the list", volume + `volumeMounts: [{name: v, mountPath: /a, subPath: /b}]}]}`,
			[]string{`spec.containers[0].volumeMounts.subPath: Invalid value: "/b": must be a relative path`}},
		{"only a privileged container may propagate mounts to the host", volume + `volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]}]}`,
			[]string{`spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`}},
		{"a recursive read-only mount must be read-only", volume + `volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]}]}`,
			[]string{`spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`}},
		{"an emptyDir is not a block device", volume + `volumeDevices: [{name: v, devicePath: /dev/x}]}]}`,
			[]string{`spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`}},
	})
}
