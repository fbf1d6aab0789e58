package pods

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	storage "k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/agent/loopdisk"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/testkit"
)

// TestSoakPrivileges checks that a container opens no socket of the virtual machine. A setuid file of root in a claim
// gives no rights to a user of the node.
func TestSoakPrivileges(t *testing.T) {
	if err := loopdisk.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "loop devices", err.Error())
	}
	runs := testkit.SoakRuns(1, 10)
	forEachRuntime(t, func(t *testing.T, r *realRuntime) {
		dir := filepath.Join(r.Dir, "claim")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		h := newRealHarness(t, clientset.NewClientset(localClaim(dir)...), r)
		for run := range runs {
			pod := realPod(fmt.Sprintf("privileges-%d", run), map[string][]string{"a": nil, "b": {"-attack=vsock"}})
			pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			a := &pod.Spec.Containers[0]
			a.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
			a.Command = []string{"/bin/sh", "-c", "cp /workload /data/program && chmod 4755 /data/program && echo written; exec sleep 1000"}
			h.admit(pod)
			h.waitForLog(pod, "a", "written")
			if got := executeAsUser(t, filepath.Join(dir, "program")); got != "1000 1000 1000 1000" {
				t.Errorf("user IDs of a setuid file in a claim: %s, want 1000 only", got)
			}
			if r.embedded { // containerd 1.6 allows the socket
				h.waitForLog(pod, "b", "attack vsock failed: operation not permitted")
			}
			h.delete(pod, 0)
			h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
			h.runner.Forget(pod.UID)
			h.waitUntilRealPodRemoved(pod)
		}
		if r.embedded {
			t.Logf("soak: %d sockets of the virtual machine refused", runs)
		}
		t.Logf("soak: embedded %v: %d setuid files in a claim, none gave rights", r.embedded, runs)
	})
}

// executeAsUser executes the test program with the setuid bit as user 1000 and returns its user IDs.
func executeAsUser(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeSetuid == 0 {
		t.Fatalf("mode of %s: %v, %v, want the setuid bit", file, info.Mode(), err)
	}
	cmd := exec.Command("/proc/self/fd/3", "cat", "/proc/self/status")
	cmd.ExtraFiles = []*os.File{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	status, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, ids, _ := strings.Cut(string(status), "Uid:")
	ids, _, _ = strings.Cut(ids, "\n")
	return strings.Join(strings.Fields(ids), " ")
}

// localClaim returns a claim and its volume in dir as Berth's provisioner creates them.
func localClaim(dir string) []k8sruntime.Object {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default", UID: "claim"},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{storage.AnnDynamicallyProvisioned: v1alpha1.LocalProvisioner, v1alpha1.VolumeImageAnnotation: "true"}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("32Mi")},
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data", UID: "claim"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: dir}},
		}}
	return []k8sruntime.Object{claim, pv}
}
