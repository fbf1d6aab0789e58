package pods

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/internal/testkit"
)

// writablePaths are the paths on the node's disk that a container can write, each with a script that
// writes 24 MiB to it.
var writablePaths = map[string]string{
	"hosts":               "fill /etc/hosts",
	"hostname":            "fill /etc/hostname",
	"resolv-conf":         "fill /etc/resolv.conf",
	"termination-message": "fill /dev/termination-log",
	"writable-layer":      "fill /data",
	"hard-links":          "fill /data; for n in 1 2 3; do ln /data /data$n; done",
	"sparse-file":         "fill /data; dd if=/dev/zero of=/sparse bs=1 seek=8G count=1",
	"empty-dir":           "fill /work/data",
	"log":                 "dd if=/dev/zero bs=1M count=8 | tr '\\0' x | fold -w 8000; echo; fill /work/data 16",
	"deleted-in-layer":    "exec 3>/data; rm /data; fill /proc/self/fd/3",
	"deleted-in-volume":   "exec 3>/work/data; rm /work/data; fill /proc/self/fd/3",
	"exited-container":    "if [ ! -e /work/restarted ]; then fill /data; touch /work/restarted; exit 1; fi",
}

// TestSoakWritablePaths checks that the bytes in all paths that a container can write count as
// ephemeral storage, within 5 %, and are free after Purge.
func TestSoakWritablePaths(t *testing.T) {
	rounds := testkit.SoakRuns(1, 10)
	forEachRuntime(t, func(t *testing.T, r *realRuntime) {
		h := newRealHarness(t, clientset.NewClientset(), r)
		for round := range rounds {
			fillWritablePaths(t, h, round)
		}
		if !t.Failed() {
			t.Logf("soak: embedded %v: %d fills of each of %d writable paths, all measured within 5 %%", r.embedded, rounds, len(writablePaths))
		}
	})
}

// fillWritablePaths runs one round of TestSoakWritablePaths.
func fillWritablePaths(t *testing.T, h *harness, round int) {
	t.Helper()
	host := h.opts.Cgroups.(*cgroup.Host)
	s := stats.NewPods(stats.Options{Host: host, Volumes: h.opts.Volumes.(*volume.Volumes), Containers: h.opts.Service.(*cri.Client),
		Cgroup:     func(p *corev1.Pod) string { return Cgroup(h.opts.CgroupRoot, p) },
		LogDir:     func(p *corev1.Pod) string { return LogDir(filepath.Join(h.opts.Root, "log", "pods"), p) },
		PodDir:     func(p *corev1.Pod) string { return PodDir(h.opts.Root, p.UID) },
		Files:      func(p *corev1.Pod) []string { return SharedFiles(h.opts.Root, p) },
		MessageDir: func(p *corev1.Pod, container string) string { return MessageDir(h.opts.Root, p, container) },
	})
	defer s.Close()
	var list []*corev1.Pod
	for name, script := range writablePaths {
		pod := realPod(fmt.Sprintf("%s-%d", name, round), map[string][]string{"a": nil})
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
		pod.Spec.Volumes = []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		c := &pod.Spec.Containers[0]
		c.VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
		c.Command = []string{"/bin/sh", "-c", "fill() { dd if=/dev/zero of=$1 bs=1M count=${2:-24} 2>/dev/null; }; " + script + "; echo written; exec sleep 1000"}
		list = append(list, pod)
		h.admit(pod)
	}
	for _, pod := range list {
		h.waitUntilWritten(pod)
	}
	if err := s.Measure(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Observe(list, func(types.UID) time.Time { return time.Time{} }) {
		const written = 24 << 20
		if used := p.Stats.Ephemeral; used < written*95/100 || used > written*105/100 {
			t.Errorf("%s: %d bytes, want %d within 5 %%: %+v", p.Name, used, written, p.Stats)
		}
	}
	for _, pod := range list {
		h.delete(pod, 0)
	}
	for _, pod := range list {
		h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
		h.runner.Purge(pod.UID)
		h.waitUntilPurged(pod)
		h.runner.Forget(pod.UID)
		h.waitUntilRealPodRemoved(pod)
	}
}

// waitUntilWritten waits for the last line of the script, which can take long on a busy disk.
func (h *harness) waitUntilWritten(pod *corev1.Pod) {
	h.t.Helper()
	logs, text := filepath.Join(LogDir(h.runner.opts.Logs, pod), "a", "*.log"), []byte("written")
	written := func() bool {
		files, _ := filepath.Glob(logs)
		return slices.ContainsFunc(files, func(file string) bool {
			got, _ := os.ReadFile(file)
			return bytes.Contains(got, text)
		})
	}
	for deadline := time.Now().Add(3 * time.Minute); !written(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("pod %s has not written its files within 3 min", pod.Name)
		}
	}
}

// waitUntilPurged waits until the pod uses no disk space.
func (h *harness) waitUntilPurged(pod *corev1.Pod) {
	h.t.Helper()
	remaining := func() (out []string) {
		for _, path := range append(SharedFiles(h.opts.Root, pod), LogDir(h.runner.opts.Logs, pod), filepath.Join(h.runner.podDir(pod.UID), messagesDir)) {
			if _, err := os.Lstat(path); err == nil {
				out = append(out, path)
			}
		}
		existing, err := h.runner.listExisting(h.t.Context(), nil)
		if err != nil || existing[pod.UID] != nil {
			out = append(out, fmt.Sprintf("%v, %v", existing[pod.UID], err))
		}
		return out
	}
	for deadline := time.Now().Add(20 * time.Second); len(remaining()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("pod %s has %v 20 s after Purge, want none", pod.Name, remaining())
		}
	}
	if h.runner.lookup(pod.UID) == nil {
		h.t.Errorf("the Runner has no pod %s after Purge, want it kept", pod.Name)
	}
}
