package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// volumeObjects are the test pod and the sources of its volumes.
const volumeObjects = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {app.ini: "a=1", other: "x"}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {key: s3cret}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: all, labels: {app: all}}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 4711}
  initContainers:
  - name: writer
    image: IMAGE
    command: [sh, -c, "echo kept > /data/file && mkdir -p /scratch/part && echo part > /scratch/part/file && echo early > /shared/file"]
    volumeMounts: [{name: data, mountPath: /data}, {name: scratch, mountPath: /scratch}, {name: memory, mountPath: /shared}]
  containers:
  - name: main
    image: IMAGE
    env: [{name: PART, value: part}]
    volumeMounts:
    - {name: conf, mountPath: /conf}
    - {name: conf, mountPath: /etc/app.ini, subPath: app.ini}
    - {name: keys, mountPath: /keys}
    - {name: down, mountPath: /down}
    - {name: data, mountPath: /data}
    - {name: scratch, mountPath: /scratch, readOnly: true}
    - {name: scratch, mountPath: /part, subPathExpr: $(PART)}
    - {name: memory, mountPath: /memory}
    - {name: host, mountPath: /host, readOnly: true}
    startupProbe: {periodSeconds: 1, timeoutSeconds: 30, exec: {command: [test, -f, /data/file]}}
    readinessProbe: {periodSeconds: 1, timeoutSeconds: 30, exec: {command: [test, -f, /memory/ready]}}
    livenessProbe: {periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 1, exec: {command: [test, "!", -f, /memory/sick]}}
  volumes:
  - {name: conf, configMap: {name: conf}}
  - {name: keys, secret: {secretName: keys, defaultMode: 0400}}
  - {name: down, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: scratch, emptyDir: {sizeLimit: 10Mi}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: host, hostPath: {path: /etc, type: Directory}}
`

// testVolumeTypes checks all types of volumes in the containers of a pod, and probes that read them.
func (c *virtualNodeCluster) testVolumeTypes(t *testing.T) {
	c.mustKubectl("apply", "-f", c.write("volumes.yaml", strings.ReplaceAll(volumeObjects, "IMAGE", fmt.Sprintf("%q", c.image))))
	c.mustKubectl("wait", "--for=jsonpath={.status.containerStatuses[0].started}=true", "pod/all", "--timeout=180s")
	sh := func(script string) string {
		t.Helper()
		return c.mustKubectl("exec", "all", "-c", "main", "--", "sh", "-c", script)
	}
	// All scripts run in one command, because each exec takes some time.
	const separator = "<next>"
	var command strings.Builder
	want := map[string]string{
		"cat /conf/app.ini /conf/other":     "a=1x",
		"cat /etc/app.ini":                  "a=1",
		"cat /keys/key":                     "s3cret",
		"stat -Lc '%a %g' /keys/key":        "440 4711\n",
		"cat /down/labels":                  `app="all"`,
		"cat /data/file":                    "kept\n",
		"cat /part/file /scratch/part/file": "part\npart\n",
		"cat /memory/file":                  "early\n",
		"stat -c '%a %g' /memory /part":     "2777 4711\n2755 4711\n",
		"test -s /host/passwd && echo yes":  "yes\n",
		"cut -c1-2 /var/run/secrets/kubernetes.io/serviceaccount/token":                                           "ey\n", // a JSON Web Token
		"cat /var/run/secrets/kubernetes.io/serviceaccount/namespace":                                             "default",
		"grep -c BEGIN /var/run/secrets/kubernetes.io/serviceaccount/ca.crt":                                      "1\n",
		"for f in /conf/x /scratch/x /host/x /keys/x; do touch $f 2>/dev/null && echo $f is writable; done; true": "",
		"dd if=/dev/zero of=/memory/big bs=1M count=2 2>/dev/null || echo full; rm /memory/big":                   "full\n",
	}
	scripts := slices.Sorted(maps.Keys(want))
	for _, script := range scripts {
		command.WriteString("(" + script + "); printf '" + separator + "'\n")
	}
	outputs := strings.Split(sh(command.String()), separator)
	for i, script := range scripts {
		if got := outputs[i]; got != want[script] {
			t.Errorf("%s: got %q, want %q", script, got, want[script])
		}
	}

	if p := c.get("all"); p.Status.ContainerStatuses[0].Ready {
		t.Error("the container is ready, want not ready before its readiness probe succeeds")
	}
	sh("touch /memory/ready")
	c.mustKubectl("wait", "--for=condition=Ready", "pod/all", "--timeout=180s")
	sh("rm /memory/ready")
	c.mustKubectl("wait", "--for=condition=Ready=false", "pod/all", "--timeout=180s")
	sh("touch /memory/sick")
	eventually(t, eventTimeout, func() error {
		if s := c.get("all").Status.ContainerStatuses[0]; s.RestartCount == 0 {
			return fmt.Errorf("got status %+v of the unhealthy container, want a restart", s)
		}
		return nil
	})
	var events corev1.EventList
	c.json(&events, "get", "events", "--field-selector", "involvedObject.name=all,reason=Unhealthy")
	if len(events.Items) == 0 {
		t.Error("got no Unhealthy event, want one for the failed probes")
	}

	// The data of a claim outlives the pod.
	c.mustKubectl("delete", "pod", "all", "--wait", "--timeout=180s")
	c.run(c.pod("second", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], ", `command: [sh, -c, "cat /v/file; sleep 1000"], volumeMounts: [{name: v, mountPath: /v}]`))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/second", "--timeout=180s")
	eventually(t, eventTimeout, func() error {
		if got := c.mustKubectl("logs", "second"); got != "kept\n" {
			return fmt.Errorf("got file content %q, want kept", got)
		}
		return nil
	})
	c.mustKubectl("delete", "pod", "second", "--wait=false")
}

// TestSoakVolumeUpdates checks that the files of a running pod change within a minute of their sources.
func TestSoakVolumeUpdates(t *testing.T) {
	if os.Getenv("BERTH_SOAK") == "" {
		t.Skip("takes minutes; make soak runs it")
	}
	c := startVirtualNode(t)
	c.mustKubectl("create", "configmap", "conf", "--from-literal=a=1")
	c.run(c.pod("reader", "volumes: [{name: conf, configMap: {name: conf}}, {name: down, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}], ",
		`volumeMounts: [{name: conf, mountPath: /conf}, {name: down, mountPath: /down}]`))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/reader", "--timeout=180s")
	start := time.Now()
	c.mustKubectl("label", "pod", "reader", "more=yes")
	c.mustKubectl("patch", "configmap", "conf", "-p", `{"data": {"a": "2", "b": "3"}}`)
	for script, want := range map[string]string{"cat /down/l": "app=\"reader\"\nmore=\"yes\"", "cat /conf/a /conf/b": "23"} {
		eventually(t, 60*time.Second-time.Since(start), func() error {
			if r := c.kubectl("exec", "reader", "--", "sh", "-c", script); r.stdout != want {
				return fmt.Errorf("%s: got %q, want %q", script, r.stdout, want)
			}
			return nil
		})
		t.Logf("soak: %s after %.1f s", script, time.Since(start).Seconds())
	}
}
