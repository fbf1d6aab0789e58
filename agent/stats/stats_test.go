package stats_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	v1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

func TestMain(m *testing.M) {
	fixtures.Main()
	os.Exit(m.Run())
}

const mi = 1 << 20

func notTerminating(types.UID) time.Time { return time.Time{} }

// waitUntil waits at most 1 min for ok to return true.
func waitUntil(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after 1 min waiting until %s", condition)
		}
	}
}

func TestObservePods(t *testing.T) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	p, err := n.Run(fixtures.Spec{Name: "one", Args: []string{"-memory=32Mi"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitForLine("memory done"); err != nil {
		t.Fatal(err)
	}
	list := n.Pods("")
	unstarted := list[0].DeepCopy()
	unstarted.UID = "not-started"
	list = append(list, unstarted)
	got := n.Stats.Observe(list, func(uid types.UID) time.Time {
		if uid == unstarted.UID {
			return time.Unix(5, 0)
		}
		return time.Time{}
	})
	if len(got) != 2 || got[0].Name != "one" || got[0].Stats == nil || got[0].Stats.Memory < 32*mi || got[0].Stats.Processes < 1 || !got[0].TerminatesBy.IsZero() {
		t.Fatalf("Observe = %+v, want pod one with at least 32 MiB and 1 process, and the unstarted pod", got)
	}
	// A pod without a cgroup is known to use 0 bytes. It must not rank first for eviction.
	if s := got[1].Stats; s == nil || !s.MemoryKnown || s.Memory != 0 || !got[1].TerminatesBy.Equal(time.Unix(5, 0)) {
		t.Errorf("stats of the unstarted pod %+v, want 0 bytes of memory and its deadline", got[1])
	}
	if got := n.Stats.Observe(nil, notTerminating); len(got) != 0 {
		t.Errorf("got %d pods, want none", len(got))
	}
}

// TestSummaryKeepsObservation checks that Summary does not change the result of Observe, which its caller reads without
// a lock.
func TestSummaryKeepsObservation(t *testing.T) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	if _, err := n.Run(fixtures.Spec{Name: "one", Args: []string{"-memory=1Mi"}}); err != nil {
		t.Fatal(err)
	}
	const sentinel = -7
	got := n.Stats.Observe(n.Pods(""), notTerminating)
	got[0].Stats.Memory = sentinel
	s := &stats.Summarizer{Node: "n1", Host: n.Host, Cgroup: n.Path, PodsCgroup: n.PodsPath(), List: func() []*corev1.Pod { return n.Pods("") }, Pods: n.Stats}
	if _, err := s.Summary(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got[0].Stats.Memory != sentinel {
		t.Errorf("observed memory %d after a summary, want %d", got[0].Stats.Memory, sentinel)
	}
}

func TestObserveDoesNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	n := fixtures.NewForTest(t, 512*mi, 600)
	for i := range 3 {
		if _, err := n.Run(fixtures.Spec{Name: fmt.Sprint("p", i), Args: []string{"-memory=1Mi"}}); err != nil {
			t.Fatal(err)
		}
	}
	list := n.Pods("")
	n.Stats.Prepare(list)
	if allocs := testing.AllocsPerRun(100, func() { n.Stats.Observe(list, notTerminating) }); allocs > 0 {
		t.Errorf("Observe allocates %v times, want 0", allocs)
	}
}

// fakeRuntime is a fake of the container runtime and of the pods' volumes.
type fakeRuntime struct {
	dir      string
	noLayers bool // the runtime reports only the usage in its statistics
	layerErr error
}

var layerBytes = map[string]int64{"attempt-0": 900, "attempt-1": 5000}

func (r fakeRuntime) ListContainers(context.Context, *cri.ContainerFilter) ([]*cri.Container, error) {
	var out []*cri.Container
	for id := range layerBytes {
		out = append(out, &cri.Container{Id: id, Labels: map[string]string{"io.kubernetes.pod.uid": "u1", "io.kubernetes.container.name": "main"}})
	}
	return out, nil
}

func (r fakeRuntime) WritableLayer(_ context.Context, id string) (runtime.Layer, error) {
	if r.noLayers {
		return runtime.Layer{}, status.Error(codes.Unimplemented, "no layers")
	}
	if r.layerErr != nil {
		return runtime.Layer{}, r.layerErr
	}
	return runtime.Layer{Key: id, Bytes: layerBytes[id], Inodes: 3}, nil
}

func (r fakeRuntime) ListContainerStats(context.Context, *cri.ContainerStatsFilter) (out []*cri.ContainerStats, err error) {
	list, _ := r.ListContainers(context.Background(), nil)
	for _, c := range list {
		out = append(out, &cri.ContainerStats{Attributes: &cri.ContainerAttributes{Id: c.Id, Labels: c.Labels},
			WritableLayer: &cri.FilesystemUsage{UsedBytes: &cri.UInt64Value{Value: uint64(layerBytes[c.Id])}, InodesUsed: &cri.UInt64Value{Value: 3}}})
	}
	return out, nil
}

func (r fakeRuntime) Usage(types.UID) ([]volume.Usage, error) {
	u := stats.MeasureDir(r.dir)
	return []volume.Usage{{Name: "data", Local: true, Bytes: u.Bytes, Inodes: u.Inodes}, {Name: "shm", Memory: true, Bytes: 77, Inodes: 1}}, nil
}

func TestMeasure(t *testing.T) {
	t.Run("layers", func(t *testing.T) { testMeasure(t, false) })
	t.Run("reported layers", func(t *testing.T) { testMeasure(t, true) })
}

func testMeasure(t *testing.T, noLayers bool) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	dir := t.TempDir()
	for name, bytes := range map[string]int{"logs/main/0.log": 8192, "data/file": 4096, "messages/main/0": 4096, "hosts": 8192} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, bytes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := fakeRuntime{dir: filepath.Join(dir, "data"), noLayers: noLayers}
	s := stats.NewPods(stats.Options{
		Host: n.Host, Cgroup: n.Cgroup, LogDir: func(*corev1.Pod) string { return filepath.Join(dir, "logs") }, Volumes: r, Containers: r,
		Files:      func(*corev1.Pod) []string { return []string{filepath.Join(dir, "hosts"), filepath.Join(dir, "none")} },
		MessageDir: func(_ *corev1.Pod, container string) string { return filepath.Join(dir, "messages", container) },
	})
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	pod.UID, pod.Name = "u1", "one"
	list := []*corev1.Pod{pod}
	if got := s.Observe(list, notTerminating); got[0].Stats.EphemeralKnown {
		t.Error("EphemeralKnown is true before the first measurement, want false")
	}
	if err := s.Measure(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	got := s.Observe(list, notTerminating)[0].Stats
	logs := stats.MeasureDir(filepath.Join(dir, "logs/main")).Bytes + stats.MeasureDir(filepath.Join(dir, "messages/main")).Bytes
	data := stats.MeasureDir(r.dir).Bytes
	if logs < 8192+4096 || data < 4096 || got.Files.Bytes != 8192 || got.Files.Inodes != 1 {
		t.Fatalf("logs of %d bytes, data of %d bytes, files %+v, want at least 12288, at least 4096, and one file of 8192", logs, data, got.Files)
	}
	// The layers of all attempts count; memory volumes do not.
	if !got.EphemeralKnown || got.Ephemeral != 5900+logs+data+8192 {
		t.Errorf("ephemeral storage %d, want %d", got.Ephemeral, 5900+logs+data+8192)
	}
	if c := got.Containers; len(c) != 1 || c[0].RootFs.Bytes != 5900 || c[0].RootFs.Inodes != 6 || c[0].Logs.Bytes != logs {
		t.Errorf("containers %+v, want one with 5900 bytes in 6 inodes and logs of %d bytes", c, logs)
	}
	if v := got.Volumes; len(v) != 2 || v[0].Bytes != data || v[1].Bytes != 77 {
		t.Errorf("volumes %+v, want %d and 77 bytes", v, data)
	}
	newer := pod.DeepCopy()
	newer.UID = "u2"
	if got := s.Observe(append(list, newer), notTerminating)[1].Stats; !got.EphemeralKnown || got.Ephemeral != 0 {
		t.Errorf("stats of a newer pod %+v, want 0 bytes of ephemeral storage", got)
	}
}

// TestMeasureWithoutLayers checks that the writable layer of a container is unknown, not empty, if the runtime fails
// to measure it.
func TestMeasureWithoutLayers(t *testing.T) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	failed := errors.New("snapshotter failed")
	s := stats.NewPods(stats.Options{Host: n.Host, Cgroup: n.Cgroup, Containers: fakeRuntime{layerErr: failed}})
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	pod.UID, pod.Name = "u1", "one"
	list := []*corev1.Pod{pod}
	if err := s.Measure(t.Context(), list); !errors.Is(err, failed) {
		t.Errorf("error %v of Measure, want %v", err, failed)
	}
	if got := s.Observe(list, notTerminating)[0].Stats; len(got.Containers) != 1 || got.Containers[0].RootFs.Known {
		t.Errorf("containers %+v, want one with an unknown writable layer", got.Containers)
	}
}

func TestSummary(t *testing.T) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	p, err := n.Run(fixtures.Spec{Name: "busy", Memory: "64Mi", Args: []string{"-memory=32Mi", "-cpu=500"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitForLine("memory done"); err != nil {
		t.Fatal(err)
	}
	s := &stats.Summarizer{
		Node: "n1", Host: n.Host, Cgroup: n.Path, PodsCgroup: n.PodsPath(), List: func() []*corev1.Pod { return n.Pods("") },
		Pods: n.Stats, NodeFs: stats.NewDisk(t.TempDir()), Started: time.Now(),
	}
	var got *v1alpha1.Summary
	waitUntil(t, "the pod has a rate", func() bool {
		n.Stats.Prepare(n.Pods(""))
		if got, err = s.Summary(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := got.Pods[0].CPU
		return c != nil && c.UsageNanoCores != nil && *c.UsageNanoCores > 0
	})
	m := got.Node.Memory
	if *m.WorkingSetBytes < 32*mi || *m.AvailableBytes != 512*mi-*m.WorkingSetBytes {
		t.Errorf("memory of the node %+v, want a working set of at least 32 MiB of 512 MiB", m)
	}
	if got.Node.CPU.UsageNanoCores == nil || *got.Node.Rlimit.MaxPID != 600 || *got.Node.Rlimit.NumOfRunningProcesses < 1 {
		t.Errorf("node with CPU %+v and processes %+v, want a CPU rate and at least 1 of 600 processes", got.Node.CPU, got.Node.Rlimit)
	}
	if fs := got.Node.Fs; fs == nil || *fs.CapacityBytes == 0 || *fs.AvailableBytes > *fs.CapacityBytes || got.Node.Runtime.ImageFs != nil {
		t.Errorf("disk of the node %+v, want a capacity, and no image file system", fs)
	}
	if len(got.Node.SystemContainers) != 1 || got.Node.SystemContainers[0].Name != "pods" {
		t.Errorf("system containers %+v, want only pods", got.Node.SystemContainers)
	}
	if m := got.Node.SystemContainers[0].Memory; *m.AvailableBytes != 512*mi-*m.WorkingSetBytes { // their cgroup has no limit
		t.Errorf("memory of the pods: %d bytes available with a working set of %d, want 512 MiB less the working set", *m.AvailableBytes, *m.WorkingSetBytes)
	}
	pod := got.Pods[0]
	if pod.PodRef.Name != "busy" || *pod.Memory.WorkingSetBytes < 32*mi || *pod.ProcessStats.ProcessCount < 1 {
		t.Errorf("pod %+v, want busy with at least 32 MiB and 1 process", pod)
	}
}

func TestDiskUsageIsCached(t *testing.T) {
	d := stats.NewDisk(t.TempDir())
	now := time.Now()
	first, err := d.Usage(now)
	if err != nil || first.Capacity == 0 || !first.At.Equal(now) {
		t.Fatalf("Usage = %+v, %v, want a capacity measured now", first, err)
	}
	if u, _ := d.Usage(now.Add(1999 * time.Millisecond)); !u.At.Equal(now) {
		t.Error("Usage read the file system twice within 2 s, want once")
	}
	if u, _ := d.Usage(now.Add(2 * time.Second)); u.At.Equal(now) {
		t.Error("Usage returned the cached usage after 2 s, want a new one")
	}
	if u, _ := d.Refresh(now.Add(2001 * time.Millisecond)); !u.At.Equal(now.Add(2001 * time.Millisecond)) {
		t.Error("Refresh returned the cached usage, want a new one")
	}
	if _, err := stats.NewDisk("/no/such/directory").Usage(now); err == nil {
		t.Error("Usage of a missing directory succeeded, want an error")
	}
}

func TestMeasureDirCountsLinksOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), make([]byte, 8192), 0o644); err != nil {
		t.Fatal(err)
	}
	before := stats.MeasureDir(dir)
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if after := stats.MeasureDir(dir); after != before {
		t.Errorf("usage with a second link %+v, want %+v", after, before)
	}
	if u := stats.MeasureDir(filepath.Join(dir, "none")); u != (stats.DirUsage{}) {
		t.Errorf("usage of a missing directory %+v, want zero", u)
	}
}
