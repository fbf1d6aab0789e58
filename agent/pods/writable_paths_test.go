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
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/internal/testkit/container"
)

// writablePaths are the places on the node's disk that a container can write, with the script that
// writes 24 MiB there.
var writablePaths = map[string]string{
	"hosts":               "fill /etc/hosts",
	"hostname":            "fill /etc/hostname",
	"resolv-conf":         "fill /etc/resolv.conf",
	"termination-message": "fill /dev/termination-log",
	"writable-layer":      "fill /data",
	"hard-links":          "fill /data; for n in 1 2 3; do ln /data /data$n; done",
	"sparse-file":         "fill /data; dd if=/dev/zero of=/sparse bs=1 seek=8G count=1",
	"empty-dir":           "fill /work/data",
	"log":                 "dd if=/dev/zero bs=1M count=8 | tr '\\0' x | fold -w 8000; echo; fill /work/rest 16",
	"deleted-in-layer":    "exec 3>/data; rm /data; fill /proc/self/fd/3",
	"deleted-in-volume":   "exec 3>/work/data; rm /work/data; fill /proc/self/fd/3",
	"dead-container":      "if [ ! -e /work/restarted ]; then fill /data; touch /work/restarted; exit 1; fi",
}

// TestSoakWritablePlaces fills all places that a container can write. Their bytes must count
// as ephemeral storage, within 5 %, and be free after Purge.
func TestSoakWritablePlaces(t *testing.T) {
	rounds := 1
	if os.Getenv("BERTH_SOAK") != "" {
		rounds = 10
	}
	onEach(t, func(t *testing.T, r *realParts) {
		g := newRealHarness(t, clientset.NewClientset(), r)
		for round := range rounds {
			fillWritablePlaces(t, g, round)
		}
	})
}

func fillWritablePlaces(t *testing.T, g *harness, round int) {
	t.Helper()
	host := g.opts.Cgroups.(*cgroup.Host)
	s := stats.NewPods(stats.Options{Host: host, Volumes: g.opts.Volumes.(*volume.Volumes), Containers: g.opts.Service.(container.Service),
		Cgroup:     func(p *corev1.Pod) string { return Cgroup(g.opts.CgroupRoot, p) },
		LogDir:     func(p *corev1.Pod) string { return LogDir(filepath.Join(g.opts.Root, "log", "pods"), p) },
		PodDir:     func(p *corev1.Pod) string { return PodDir(g.opts.Root, p.UID) },
		Files:      func(p *corev1.Pod) []string { return SharedFiles(g.opts.Root, p) },
		MessageDir: func(p *corev1.Pod, container string) string { return MessageDir(g.opts.Root, p, container) },
	})
	defer s.Close()
	var list []*corev1.Pod
	for place, script := range writablePaths {
		pod := realPod(fmt.Sprintf("%s-%d", place, round), map[string][]string{"a": nil})
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
		pod.Spec.Volumes = []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		c := &pod.Spec.Containers[0]
		c.VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
		c.Command = []string{"/bin/sh", "-c", "fill() { dd if=/dev/zero of=$1 bs=1M count=${2:-24} 2>/dev/null; }; " + script + "; echo written; exec sleep 1000"}
		list = append(list, pod)
		g.admit(pod)
	}
	for _, pod := range list {
		g.waitUntilWritten(pod)
	}
	if err := s.Measure(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Observe(list, func(types.UID) time.Time { return time.Time{} }) {
		const wrote = 24 << 20
		if used := p.Stats.Ephemeral; used < wrote*95/100 || used > wrote*105/100 {
			t.Errorf("%s: %d bytes are counted, want %d: %+v", p.Name, used, wrote, p.Stats)
		}
	}
	for _, pod := range list {
		g.delete(pod, 0)
	}
	for _, pod := range list {
		g.waitUntil("the pod is released", func() bool { return g.lifecycles[pod.UID].released })
		g.runner.Purge(pod.UID)
		g.waitUntilPurged(pod)
		g.runner.Forget(pod.UID)
		g.waitUntilRealPodRemoved(pod)
	}
}

// waitUntilWritten waits for the last line of the script, which can take long on a busy disk.
func (g *harness) waitUntilWritten(pod *corev1.Pod) {
	g.t.Helper()
	logs, text := filepath.Join(LogDir(g.runner.opts.Logs, pod), "a", "*.log"), []byte("written")
	written := func() bool {
		files, _ := filepath.Glob(logs)
		return slices.ContainsFunc(files, func(file string) bool {
			got, _ := os.ReadFile(file)
			return bytes.Contains(got, text)
		})
	}
	for end := time.Now().Add(3 * time.Minute); !written(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("%s has not written its files", pod.Name)
		}
	}
}

// waitUntilPurged waits until the pod uses no disk space.
func (g *harness) waitUntilPurged(pod *corev1.Pod) {
	g.t.Helper()
	remaining := func() (out []string) {
		for _, path := range append(SharedFiles(g.opts.Root, pod), LogDir(g.runner.opts.Logs, pod), filepath.Join(g.runner.podDir(pod.UID), messagesDir)) {
			if _, err := os.Lstat(path); err == nil {
				out = append(out, path)
			}
		}
		existing, err := g.runner.listExisting(g.t.Context(), nil)
		if err != nil || existing[pod.UID] != nil {
			out = append(out, fmt.Sprintf("%v, %v", existing[pod.UID], err))
		}
		return out
	}
	for end := time.Now().Add(20 * time.Second); len(remaining()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("%s still has %v", pod.Name, remaining())
		}
	}
	if g.runner.lookup(pod.UID) == nil {
		g.t.Errorf("%s is not counted", pod.Name)
	}
}
