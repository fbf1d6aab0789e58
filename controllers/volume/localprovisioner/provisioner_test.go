package localprovisioner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
)

// harness is the provisioner on a fake API server in virtual time.
type harness struct {
	t      *testing.T
	ctx    context.Context
	api    *fake.Clientset
	root   string
	events recordedEvents
}

// recordedEvents are events by object, as sent: in virtual time two events can
// have the same name.
type recordedEvents struct {
	sync.Mutex
	byObject map[string][]string
}

func (r *recordedEvents) record(action ktesting.Action) (bool, runtime.Object, error) {
	r.Lock()
	defer r.Unlock()
	e, ok := action.(ktesting.CreateAction).GetObject().(*corev1.Event)
	if ok {
		r.byObject[e.InvolvedObject.Name] = append(r.byObject[e.InvolvedObject.Name], e.Reason+": "+e.Message)
	}
	return true, e, nil
}

// runProvisioner runs a test with the provisioner and the default storage class.
func runProvisioner(t *testing.T, f func(h *harness), objects ...runtime.Object) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "volumes")
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := &harness{t: t, ctx: t.Context(), api: fake.NewClientset(append(objects, Class())...), root: root, events: recordedEvents{byObject: map[string][]string{}}}
		h.api.PrependReactor("create", "events", h.events.record)
		done := make(chan error, 1)
		go func() { done <- Run(ctx, h.api, root, klog.Background()) }()
		h.waitIdle()
		f(h)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		time.Sleep(time.Minute) // virtual time; remaining goroutines end
	})
}

// waitIdle waits until the provisioner is idle.
func (h *harness) waitIdle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// directories returns the directories below the root: "n1/pvc-1".
func (h *harness) directories() string {
	dirs, _ := filepath.Glob(filepath.Join(h.root, "*", "*"))
	for i, f := range dirs {
		dirs[i], _ = filepath.Rel(h.root, f)
	}
	return strings.Join(dirs, " ")
}

func (h *harness) volume(name string) *corev1.PersistentVolume {
	v, err := h.api.CoreV1().PersistentVolumes().Get(h.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return v
}

func (h *harness) checkEvent(name, prefix string) {
	h.t.Helper()
	h.events.Lock()
	defer h.events.Unlock()
	messages := h.events.byObject[name]
	if !slices.ContainsFunc(messages, func(s string) bool { return strings.HasPrefix(s, prefix) }) {
		h.t.Errorf("events of %s: %q, want one with prefix %q", name, messages, prefix)
	}
}

func newNode(name, host string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: host}}}
}

func newClaim(node string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	class := ClassName
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "1",
		Annotations: map[string]string{volume.AnnStorageProvisioner: ProvisionerName, volume.AnnSelectedNode: node}},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
	for _, f := range change {
		f(c)
	}
	return c
}

func TestProvision(t *testing.T) {
	runProvisioner(t, func(h *harness) {
		v := h.volume("pvc-1")
		if v == nil || h.directories() != "n1/pvc-1" {
			t.Fatalf("volume %v, directories %q, want pvc-1 in n1/pvc-1", v, h.directories())
		}
		if r := v.Spec.ClaimRef; r.UID != "1" || r.Name != "c" || r.Namespace != "ns" || v.Spec.Local.Path != filepath.Join(h.root, "n1", "pvc-1") ||
			v.Annotations[volume.AnnDynamicallyProvisioned] != ProvisionerName || v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			t.Errorf("volume %+v, want claim ns/c and its directory", v)
		}
		if volume.CheckNodeAffinity(v, map[string]string{corev1.LabelHostname: "host1"}) != nil || volume.CheckNodeAffinity(v, map[string]string{corev1.LabelHostname: "host2"}) == nil {
			t.Errorf("node affinity %+v, want one that matches host1 only", v.Spec.NodeAffinity)
		}
		h.checkEvent("c", "ProvisioningSucceeded: Successfully provisioned volume pvc-1")
		if err := os.WriteFile(filepath.Join(v.Spec.Local.Path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		v.Status.Phase = corev1.VolumeReleased
		if _, err := h.api.CoreV1().PersistentVolumes().UpdateStatus(h.ctx, v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.waitIdle()
		if h.volume("pvc-1") != nil || h.directories() != "" {
			t.Errorf("volume %v, directories %q after the release, want neither", h.volume("pvc-1"), h.directories())
		}
	}, newNode("n1", "host1"), newClaim("n1"))
}

func TestFailedProvisioning(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	for reason, tc := range map[string]struct {
		claim        *corev1.PersistentVolumeClaim
		wantSelected string
	}{
		"spec.volumeMode is Block":                   {newClaim("n1", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block }), "n1"},
		"spec.accessModes are [ReadWriteMany]":       {newClaim("n1", func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes[0] = corev1.ReadWriteMany }), "n1"},
		"spec.selector":                              {newClaim("n1", func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }), "n1"},
		`node "n9" not found`:                        {newClaim("n9"), ""},
		`node "n2" has no label kubernetes.io/hostn`: {newClaim("n2"), ""},
	} {
		runProvisioner(t, func(h *harness) {
			h.checkEvent("c", `ProvisioningFailed: failed to provision volume with StorageClass "berth-local": `+reason)
			c, _ := h.api.CoreV1().PersistentVolumeClaims("ns").Get(h.ctx, "c", metav1.GetOptions{})
			if h.directories() != "" || h.volume("pvc-1") != nil || c.Annotations[volume.AnnSelectedNode] != tc.wantSelected {
				t.Errorf("%s: directories %q, selected node %q, want none and %q", reason, h.directories(), c.Annotations[volume.AnnSelectedNode], tc.wantSelected)
			}
		}, newNode("n1", "host1"), newNode("n2", ""), tc.claim)
	}
}

func TestReclaimIgnoresOtherVolumes(t *testing.T) {
	newVolume := func(name, provisioner, path string, phase corev1.PersistentVolumePhase, p corev1.PersistentVolumeReclaimPolicy) *corev1.PersistentVolume {
		out := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{volume.AnnDynamicallyProvisioned: provisioner}},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: p}, Status: corev1.PersistentVolumeStatus{Phase: phase}}
		out.Spec.Local = &corev1.LocalVolumeSource{Path: path}
		return out
	}
	outside := t.TempDir()
	runProvisioner(t, func(h *harness) {
		for _, name := range []string{"other-provisioner", "retained", "bound", "outside"} {
			if h.volume(name) == nil {
				t.Errorf("volume %s was deleted, want it unchanged", name)
			}
		}
		h.checkEvent("outside", "VolumeFailedDelete: path ")
		if !exists(outside) {
			t.Error("the directory outside of the root was removed, want it unchanged")
		}
	}, newVolume("other-provisioner", "csi.example.com", outside, corev1.VolumeReleased, corev1.PersistentVolumeReclaimDelete),
		newVolume("retained", ProvisionerName, outside, corev1.VolumeReleased, corev1.PersistentVolumeReclaimRetain),
		newVolume("bound", ProvisionerName, outside, corev1.VolumeBound, corev1.PersistentVolumeReclaimDelete),
		newVolume("outside", ProvisionerName, outside, corev1.VolumeReleased, corev1.PersistentVolumeReclaimDelete))
}

func TestDeletedClaimIsCleanedUp(t *testing.T) {
	runProvisioner(t, func(h *harness) {
		if err := os.MkdirAll(filepath.Join(h.root, "n1", "pvc-1"), 0o700); err != nil { // the volume object was rejected
			t.Fatal(err)
		}
		if err := h.api.CoreV1().PersistentVolumeClaims("ns").Delete(h.ctx, "c", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.waitIdle()
		if h.directories() != "" {
			t.Errorf("directories %q, want none", h.directories())
		}
	}, newClaim("n9"))
}
