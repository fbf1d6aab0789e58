package cadvisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/nodepressure"
)

// tree writes files below a temporary directory, and returns that directory and the host with these cgroups.
func tree(t *testing.T, files map[string]string) (string, *cgroup.Host) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := cgroup.DetectAt(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, h
}

// collect returns the values of the series of one pod with a container, by name and labels: "NAME LABEL=VALUE,...".
// It omits the label id and empty labels.
func collect(t *testing.T, root string, h *cgroup.Host) map[string]float64 {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1"}}
	pod.Status.StartTime = &metav1.Time{Time: time.Unix(100, 0)}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "app:1", ContainerID: "berth://abc", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(200, 0))}}},
		{Name: "hostile", ContainerID: "berth://../..", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{Name: "hostile", ContainerID: "berth://..", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "hostile", ContainerID: "berth://.", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	node := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}}}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Collector{Options{Host: h, Root: "/", Proc: filepath.Join(root, "proc"), Node: func() *corev1.Node { return node },
		Pods: func() []*corev1.Pod { return []*corev1.Pod{pod} }, Usage: func(types.UID) *nodepressure.PodStats { return nil }, Cgroup: func(*corev1.Pod) string { return "/pod1" }}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				if l.GetName() != "id" && l.GetValue() != "" {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			value := m.GetGauge().GetValue()
			if m.Counter != nil {
				value = m.GetCounter().GetValue()
			}
			out[f.GetName()+" "+strings.Join(labels, ",")] = value
		}
	}
	return out
}

const containerLabels, podLabels = "container=c,image=app:1,name=abc,namespace=shop,pod=web", "namespace=shop,pod=web"

func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if n, ok := got[name]; !ok || n != value {
			t.Errorf("series %s: value %v, exists %v, want value %v", name, n, ok, value)
		}
	}
}

func TestCgroupV2(t *testing.T) {
	const dir, pod = "cg/pod1/abc/", "cg/pod1/"
	root, h := tree(t, map[string]string{"proc/self/mountinfo": "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n", pod + "memory.current": "900\n", "cg/cgroup.procs": "1\n", pod + "sandbox/cgroup.procs": "9\n",
		dir + "memory.current": "1000\n", dir + "memory.stat": "anon 500\nfile 400\ninactive_file 300\n", dir + "memory.max": "max\n", dir + "memory.events": "oom_kill 3\nmax 7\n",
		dir + "cpu.stat": "usage_usec 2500000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 1500000\n", dir + "cpu.max": "50000 100000\n", dir + "cpu.weight": "100\n",
		dir + "pids.current": "5\n", dir + "cgroup.procs": "7\n8\n", dir + "io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0\n\n", dir + "memory.pressure": "some avg10=1.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n",
		dir + "cpu.pressure": "garbage\n", "proc/7/net/dev": " forged: 9 9 9 9 0 0 0 0 9 9 9 9\n", "proc/9/net/dev": "Inter-|   Receive\n eth0: 100 1 2 3 0 0 0 0 200 4 5 6 0 0 0 0\n  lo: 9 9 9 9 0 0 0 0 9 9 9 9\n \xff0: 1 1 1 1 0 0 0 0 1 1 1 1\n"})
	for link, target := range map[string]string{"proc/self/ns/net": "net:[1]", "proc/7/ns/net": "net:[2]", "proc/9/ns/net": "net:[3]"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	got := collect(t, root, h)
	expect(t, got, map[string]float64{"container_memory_usage_bytes " + containerLabels: 1000, "container_memory_working_set_bytes " + containerLabels: 700, "container_memory_rss " + containerLabels: 500,
		"container_memory_cache " + containerLabels: 400, "container_spec_memory_limit_bytes " + containerLabels: 0, "container_oom_events_total " + containerLabels: 3,
		"container_cpu_usage_seconds_total " + strings.Replace(containerLabels, ",image", ",cpu=total,image", 1): 2.5, "container_cpu_cfs_periods_total " + containerLabels: 10,
		"container_cpu_cfs_throttled_periods_total " + containerLabels: 4, "container_cpu_cfs_throttled_seconds_total " + containerLabels: 1.5, "container_spec_cpu_quota " + containerLabels: 50000,
		"container_spec_cpu_period " + containerLabels: 100000, "container_threads " + containerLabels: 5, "container_processes " + containerLabels: 2, "container_start_time_seconds " + containerLabels: 200,
		"container_fs_reads_bytes_total " + strings.Replace(containerLabels, ",image", ",device=8:0,image", 1): 10, "container_fs_writes_total " + strings.Replace(containerLabels, ",image", ",device=8:0,image", 1): 2,
		"container_pressure_memory_waiting_seconds_total " + containerLabels: 2, "container_pressure_memory_stalled_seconds_total " + containerLabels: 0.5,
		"container_memory_usage_bytes " + podLabels: 900, "container_start_time_seconds " + podLabels: 100,
		"container_network_receive_bytes_total interface=eth0," + podLabels: 100, "container_network_transmit_packets_dropped_total interface=eth0," + podLabels: 6,
		"machine_cpu_cores ": 2, "machine_memory_bytes ": 1 << 30, "container_scrape_error ": 0})
	for name := range got {
		if strings.Contains(name, "interface=lo") || strings.Contains(name, "interface=forged") || strings.Contains(name, "hostile") || strings.Contains(name, "pressure_io") {
			t.Errorf("got series %s, want none of that name", name)
		}
	}
}

func TestCgroupV1(t *testing.T) {
	mounts := ""
	for _, c := range []string{"memory", "cpu", "cpuacct", "blkio", "pids"} {
		mounts += "1 2 0:1 / /" + c + " rw - cgroup cgroup rw," + c + "\n"
	}
	const dir = "/pod1/abc/"
	root, h := tree(t, map[string]string{"proc/self/mountinfo": mounts, "memory" + dir + "memory.usage_in_bytes": "1000\n", "memory" + dir + "memory.limit_in_bytes": "9223372036854771712\n",
		"memory" + dir + "memory.stat": "rss 1\ntotal_rss 500\ntotal_cache 400\ntotal_inactive_file 1200\n", "memory" + dir + "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
		"memory" + dir + "cgroup.procs": "7\n", "memory" + dir + "tasks": "7\n9\n", "cpuacct" + dir + "cpuacct.usage": "2500000000\n", "cpuacct" + dir + "cpuacct.stat": "user 100\nsystem 50\n",
		"cpu" + dir + "cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n", "cpu" + dir + "cpu.shares": "102\n", "cpu" + dir + "cpu.cfs_quota_us": "-1\n", "pids" + dir + "pids.max": "max\n",
		"blkio" + dir + "blkio.throttle.io_service_bytes": "254:0 Read 10\n254:0 Write 20\n254:0 Total 30\nTotal 30\n", "blkio" + dir + "blkio.throttle.io_serviced": "254:0 Read 1\n254:0 Write 2\n"})
	got := collect(t, root, h)
	expect(t, got, map[string]float64{"container_memory_usage_bytes " + containerLabels: 1000, "container_memory_working_set_bytes " + containerLabels: 0, "container_memory_rss " + containerLabels: 500,
		"container_spec_memory_limit_bytes " + containerLabels: 0, "container_oom_events_total " + containerLabels: 2, "container_cpu_user_seconds_total " + containerLabels: 1, "container_cpu_system_seconds_total " + containerLabels: 0.5,
		"container_spec_cpu_shares " + containerLabels: 102, "container_threads " + containerLabels: 2, "container_processes " + containerLabels: 1, "container_threads_max " + containerLabels: 0,
		"container_fs_writes_bytes_total " + strings.Replace(containerLabels, ",image", ",device=254:0,image", 1): 20, "container_fs_reads_total " + strings.Replace(containerLabels, ",image", ",device=254:0,image", 1): 1})
	for name := range got {
		if strings.Contains(name, "pressure") || strings.Contains(name, "cfs_") || strings.Contains(name, "cpu_quota") {
			t.Errorf("got series %s, want none of that name", name)
		}
	}
}

// TestInterfaces checks that the interfaces of a pod with NET_ADMIN cannot stop the agent: names may be no valid UTF-8, and
// the number of interfaces in the response is limited.
func TestInterfaces(t *testing.T) {
	var dev strings.Builder
	dev.WriteString("\xff0: 1 1 1 1 0 0 0 0 1 1 1 1\n")
	for i := range 1000 {
		fmt.Fprintf(&dev, "eth%d: 1 1 1 1 0 0 0 0 1 1 1 1\n", i)
	}
	ch := make(chan prometheus.Metric, 10000)
	sendInterfaces(ch, owner{}, dev.String())
	if want := maxInterfaces * len(interfaceColumns); len(ch) != want {
		t.Errorf("got %d samples, want %d", len(ch), want)
	}
	owner{image: "\xff"}.send(ch, "name", prometheus.GaugeValue, 1)
	if want := maxInterfaces * len(interfaceColumns); len(ch) != want {
		t.Errorf("got %d samples after one with a label that is not UTF-8, want %d", len(ch), want)
	}
}

// TestScrapeError checks the series of a node whose cgroup does not exist.
func TestScrapeError(t *testing.T) {
	root, h := tree(t, map[string]string{"proc/self/mountinfo": "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n"})
	expect(t, collect(t, root, h), map[string]float64{"container_scrape_error ": 1})
}
