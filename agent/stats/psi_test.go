package stats_test

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	v1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/stats"
)

// psiHost returns a host with the cgroups /, /pods, /pods/u1 and /pods/u1/c1 in a temporary directory. Each
// cgroup has its own total in its PSI files: 1 s to 4 s.
func psiHost(t *testing.T, version string) *cgroup.Host {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/self/mountinfo", map[string]string{"v1": "1 2 0:1 / /cg rw - cgroup cgroup rw,memory,cpu,cpuacct,pids\n3 4 0:1 / /cg rw - cgroup2 cgroup2 rw\n", "v2": "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n"}[version])
	write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\n")
	for i, group := range []string{"", "pods", "pods/u1", "pods/u1/c1"} {
		for name, text := range map[string]string{
			"memory.stat": "anon 1\nfile 1\ninactive_file 0\ntotal_inactive_file 0\n", "memory.current": "4096\n", "memory.usage_in_bytes": "4096\n", "memory.limit_in_bytes": "8192\n",
			"memory.max": "8192\n", "cpu.stat": "usage_usec 7\n", "cpuacct.usage": "7000\n", "pids.current": "1\n", "pids.max": "9\n",
			"cpu.pressure":    "some avg10=1.50 avg60=0.25 avg300=12.00 total=" + string(rune('1'+i)) + "000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			"memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + string(rune('1'+i)) + "000001\nfull avg10=100.00 avg60=0.00 avg300=0.00 total=5\n",
			"io.pressure":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + string(rune('1'+i)) + "000002\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=6\n",
		} {
			write(path.Join("cg", group, name), text)
		}
	}
	h, err := cgroup.DetectAt(root)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// summaryOf returns the summary of a node with one pod.
func summaryOf(t *testing.T, h *cgroup.Host) *v1alpha1.Summary {
	t.Helper()
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	pod.UID, pod.Name = "u1", "one"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ContainerID: "berth://c1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	pods := stats.NewPods(stats.Options{Host: h, Cgroup: func(p *corev1.Pod) string { return "/pods/" + string(p.UID) }})
	t.Cleanup(pods.Close)
	list := []*corev1.Pod{pod}
	pods.Prepare(list)
	s := &stats.Summarizer{Node: "n1", Host: h, Cgroup: "/", PodsCgroup: "/pods", List: func() []*corev1.Pod { return list }, Pods: pods}
	got, err := s.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Node.SystemContainers) != 1 || len(got.Pods) != 1 || len(got.Pods[0].Containers) != 1 {
		t.Fatalf("summary %+v, want one system container and one pod with one container", got)
	}
	return got
}

func TestSummaryPSI(t *testing.T) {
	s := summaryOf(t, psiHost(t, "v2"))
	system, pod := s.Node.SystemContainers[0], s.Pods[0]
	for i, got := range []struct {
		name   string
		cpu    *v1alpha1.CPUStats
		memory *v1alpha1.MemoryStats
		io     *v1alpha1.IOStats
	}{
		{"node", s.Node.CPU, s.Node.Memory, s.Node.IO},
		{"all pods", system.CPU, system.Memory, system.IO},
		{"pod", pod.CPU, pod.Memory, pod.IO},
		{"container", pod.Containers[0].CPU, pod.Containers[0].Memory, pod.Containers[0].IO},
	} {
		seconds := uint64(i+1) * 1e9
		if got.io == nil {
			t.Errorf("%s: no io, want its PSI", got.name)
			continue
		}
		for _, r := range []struct {
			resource string
			got      *v1alpha1.PSIStats
			want     v1alpha1.PSIStats
		}{
			{"cpu", got.cpu.PSI, v1alpha1.PSIStats{Some: v1alpha1.PSIData{Total: seconds, Avg10: 1.5, Avg60: 0.25, Avg300: 12}}},
			{"memory", got.memory.PSI, v1alpha1.PSIStats{Some: v1alpha1.PSIData{Total: seconds + 1000}, Full: v1alpha1.PSIData{Total: 5000, Avg10: 100}}},
			{"io", got.io.PSI, v1alpha1.PSIStats{Some: v1alpha1.PSIData{Total: seconds + 2000}, Full: v1alpha1.PSIData{Total: 6000}}},
		} {
			if r.got == nil || *r.got != r.want {
				t.Errorf("%s: PSI of %s %+v, want %+v", got.name, r.resource, r.got, r.want)
			}
		}
	}
}

// TestSummaryWithoutPSI checks that PSI is omitted on cgroup v1, where the kubelet omits it, also if v2 is
// mounted next to it.
func TestSummaryWithoutPSI(t *testing.T) {
	s := summaryOf(t, psiHost(t, "v1"))
	container := s.Pods[0].Containers[0]
	if s.Node.CPU.PSI != nil || s.Node.Memory.PSI != nil || s.Node.IO != nil || s.Pods[0].CPU.PSI != nil || s.Pods[0].IO != nil || container.Memory.PSI != nil || container.IO != nil {
		t.Errorf("summary %+v, want no PSI", s)
	}
}
