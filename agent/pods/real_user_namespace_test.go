package pods

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent/cgroup"
)

func TestRealUserNamespace(t *testing.T) { forEachRuntime(t, realUserNamespace) }

// realUserNamespace checks that root of a pod with hostUsers false has no rights on the node and owns its files. A
// runtime without user namespaces must refuse the pod.
func realUserNamespace(t *testing.T, r *realRuntime) {
	h := newRealHarness(t, fake.NewClientset(), r, twoRanges(t))
	pod := realPod("web", map[string][]string{"a": nil})
	pod.Spec.HostUsers = ptr(false)
	pod.Spec.Volumes = []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	a := &pod.Spec.Containers[0]
	a.VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
	a.Command = []string{"/bin/sh", "-c", `cat /proc/self/uid_map /proc/self/gid_map; echo text > /work/file; echo last words > /dev/termination-log; echo ready; sleep 3600`}
	status, err := r.Service.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.admit(pod)
	if !supportsUserNamespaces(status, "") {
		h.waitForStates(pod, "a=starting(RefusedByRuntime)")
		return
	}
	h.waitForStates(pod, "a=running")
	h.waitForLog(pod, "a", "ready")
	ids, ok := h.opts.UserNamespaces.Lookup(pod.UID)
	if !ok {
		t.Fatal("the pod has no range of user IDs")
	}
	p, _ := h.runner.Pod(pod.Namespace, pod.Name)
	c, _ := p.Container("a")
	log, err := os.ReadFile(c.LogPath)
	if err != nil || strings.Count(strings.Join(strings.Fields(string(log)), " "), fmt.Sprintf(" 0 %d %d ", ids.First, ids.Length)) != 2 {
		t.Errorf("log %q, error %v, want users and groups from %d on", log, err, ids.First)
	}
	files := []string{filepath.Join(h.opts.Root, "pods", string(pod.UID), "volumes", "kubernetes.io~empty-dir", "work", "file"), filepath.Join("/proc", fmt.Sprint(h.processOf(pod, c.ID)))}
	for i, want := range []uint32{0, ids.First} { // the mount maps IDs of files, so that they do not depend on the range
		var s syscall.Stat_t
		if err := syscall.Stat(files[i], &s); err != nil || s.Uid != want || s.Gid != want {
			t.Errorf("%s: owner %d:%d, error %v, want %d", files[i], s.Uid, s.Gid, err, want)
		}
	}
	h.restart()
	h.waitForStates(pod, "a=running")
	if again, _ := h.opts.UserNamespaces.Lookup(pod.UID); again != ids {
		t.Errorf("range %v after a restart, want %v", again, ids)
	}
	h.delete(pod, 0)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
}

// processOf returns the ID of a process of a container.
func (h *harness) processOf(pod *corev1.Pod, container string) int {
	h.t.Helper()
	processes, err := h.opts.Cgroups.(*cgroup.Host).Procs(Cgroup(h.opts.CgroupRoot, pod) + "/" + container)
	if err != nil || len(processes) == 0 {
		h.t.Fatalf("container %s has processes %v, error %v, want some", container, processes, err)
	}
	return processes[0]
}
