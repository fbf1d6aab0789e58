package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// claimAndPod returns manifests of a claim and of a pod that uses the claim. Class "" is the default class.
func claimAndPod(claim, class, pod string) string {
	if class != "" {
		class = "\n  storageClassName: " + class
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}%s
---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /data}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}]
---`, claim, class, pod, claim)
}

// manualStorage is a manifest of the class manual, which has no provisioner.
const manualStorage = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: manual}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---`

// disk returns a manifest of a local volume of the class manual on a node.
func disk(name, node string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  storageClassName: manual
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /mnt/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}
---`, name, node)
}

func (c *cluster) apply(manifests ...string) {
	c.t.Helper()
	c.mustKubectl("apply", "-f", c.write("manifest.yaml", strings.Join(manifests, "\n")))
}

// waitForRunningPod waits until a pod runs, and returns it.
func (c *cluster) waitForRunningPod(name string) (pod corev1.Pod) {
	c.t.Helper()
	eventually(c.t, eventTimeout, func() error {
		pod = corev1.Pod{}
		c.json(&pod, "get", "pod", name)
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s is %s, want Running: %+v", name, pod.Status.Phase, pod.Status.Conditions)
		}
		return nil
	})
	return pod
}

// TestDynamicProvisioning tests the lifecycle of a claim of the default class.
func TestDynamicProvisioning(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up()
	if classes := c.mustKubectl("get", "sc"); !strings.Contains(classes, "berth-local (default)") || !strings.Contains(classes, "WaitForFirstConsumer") {
		t.Errorf("get sc: got %s, want the default class berth-local with WaitForFirstConsumer", classes)
	}
	c.apply(claimAndPod("data", "", "web"))
	pod := c.waitForRunningPod("web")
	var claim corev1.PersistentVolumeClaim
	eventually(t, eventTimeout, func() error {
		if c.json(&claim, "get", "pvc", "data"); claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("the claim is %s, want Bound", claim.Status.Phase)
		}
		return nil
	})
	dir := h.path(filepath.Join("data/volumes", pod.Spec.NodeName, claim.Spec.VolumeName))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("directory of the volume %s: got error %v, want a directory", dir, err)
	}
	if node := claim.Annotations["volume.kubernetes.io/selected-node"]; node != pod.Spec.NodeName {
		t.Errorf("got selected node %s of the claim, want the node of the pod %s", node, pod.Spec.NodeName)
	}
	eventually(t, eventTimeout, func() error {
		text := c.mustKubectl("describe", "pvc", "data")
		for _, reason := range []string{"WaitForFirstConsumer", "ExternalProvisioning", "ProvisioningSucceeded"} {
			if !strings.Contains(text, reason) {
				return fmt.Errorf("describe pvc: got %s, want an event with reason %s", text, reason)
			}
		}
		return nil
	})
	if columns := strings.Fields(c.mustKubectl("get", "pv", "--no-headers")); !slices.Equal(columns[:7], []string{claim.Spec.VolumeName, "1Gi", "RWO", "Delete", "Bound", "default/data", "berth-local"}) {
		t.Errorf("get pv: got columns %q, want a bound volume of the class berth-local", columns)
	}
	if columns := strings.Fields(c.mustKubectl("get", "pvc", "--no-headers")); !slices.Equal(columns[:6], []string{"data", "Bound", claim.Spec.VolumeName, "1Gi", "RWO", "berth-local"}) {
		t.Errorf("get pvc: got columns %q, want a bound claim of the class berth-local", columns)
	}
	if code := c.proc.stop(); code != 0 {
		t.Fatalf("exit code %d after Ctrl-C, want 0", code)
	}
	c = h.up()
	c.mustKubectl("delete", "pvc", "data", "--wait=false")
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the directory of a claim in use: got %v, want it to exist", err)
	}
	c.mustKubectl("delete", "pod", "web")
	c.mustKubectl("wait", "pv", claim.Spec.VolumeName, "--for=delete", "--timeout=180s")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a deleted claim: got %v, want not found", err)
	}
}

// TestPodsCompeteForVolume checks that one of two pods gets the only volume, and that the other pod runs
// after a second volume is created.
func TestPodsCompeteForVolume(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up()
	c.apply(manualStorage, disk("disk1", "n2"), claimAndPod("c1", "manual", "p1"), claimAndPod("c2", "manual", "p2"))
	var pending, running string
	eventually(t, eventTimeout, func() error {
		pending, running = "", ""
		for _, name := range []string{"p1", "p2"} {
			var p corev1.Pod
			switch c.json(&p, "get", "pod", name); {
			case p.Status.Phase == corev1.PodRunning && p.Spec.NodeName == "n2":
				running = name
			case len(p.Status.Conditions) > 0 && strings.Contains(p.Status.Conditions[0].Message, "3 node(s) didn't find available persistent volumes to bind"):
				pending = name
			}
		}
		if pending == "" || running == "" {
			return fmt.Errorf("got running pod %q and pending pod %q, want one of each", running, pending)
		}
		return nil
	})
	c.apply(disk("disk2", "n3"))
	if p := c.waitForRunningPod(pending); p.Spec.NodeName != "n3" {
		t.Errorf("%s was bound to %s, want n3", pending, p.Spec.NodeName)
	}
}

// TestClaimWithoutProvisionerTimesOut checks that a scheduling attempt fails after the bind timeout of the
// scheduler if the class of the claim has no running provisioner.
func TestClaimWithoutProvisionerTimesOut(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	config := h.write("scheduler.yaml", `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 2}
`)
	c := h.up("--config", config)
	missing := strings.NewReplacer("manual", "missing", "kubernetes.io/no-provisioner", "missing.example.com/disk").Replace(manualStorage)
	c.apply(missing, claimAndPod("c", "missing", "p"))
	eventually(t, eventTimeout, func() error {
		events := c.mustKubectl("get", "events", "--field-selector", "involvedObject.name=p,reason=FailedScheduling")
		if !strings.Contains(events, "not bound within 2s") {
			return fmt.Errorf("got events of the pod %s, want \"not bound within 2s\"", events)
		}
		return nil
	})
	if text := c.mustKubectl("describe", "pvc", "c"); !strings.Contains(text, "missing.example.com/disk") || !strings.Contains(text, "selected-node") {
		t.Errorf("describe pvc: got %s, want the provisioner and the selected node", text)
	}
}

// TestClaimsSurviveKill checks that all claims are bound to separate volumes if the whole cluster is killed
// while it binds claims, and restarted.
func TestClaimsSurviveKill(t *testing.T) {
	t.Parallel()
	const n = 40
	h := newTestHome(t)
	c := h.up()
	var manifests []string
	for i := range n {
		manifests = append(manifests, claimAndPod(fmt.Sprint("c", i), "", fmt.Sprint("p", i)))
	}
	c.apply(manifests...)
	c.proc.kill()
	c = h.up()
	c.waitForRunning(n)
	var volumes corev1.PersistentVolumeList
	c.json(&volumes, "get", "pv")
	claims := map[string]bool{}
	for _, v := range volumes.Items {
		claims[v.Spec.ClaimRef.Name] = true
		if _, err := os.Stat(v.Spec.Local.Path); err != nil {
			t.Errorf("directory of volume %s: %v", v.Name, err)
		}
	}
	directories, _ := filepath.Glob(h.path("data/volumes/*/*"))
	if len(volumes.Items) != n || len(claims) != n || len(directories) != n {
		t.Errorf("got %d volumes of %d claims and %d directories, want %d each", len(volumes.Items), len(claims), len(directories), n)
	}
	c.mustKubectl("delete", "pods,pvc", "--all", "--wait=false")
	eventually(t, eventTimeout, func() error {
		remaining, _ := filepath.Glob(h.path("data/volumes/*/*"))
		if text := c.mustKubectl("get", "pv", "-o", "name"); len(remaining) > 0 || text != "" {
			return fmt.Errorf("got %d directories, volumes %s, want none", len(remaining), text)
		}
		return nil
	})
}
