package stats_test

import (
	"context"
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

func never(types.UID) time.Time { return time.Time{} }

// waitUntil waits for ok to return true.
func waitUntil(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out after 1 min: %s", condition)
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
	unstarted.UID = "never-started"
	list = append(list, unstarted)
	got := n.Stats.Observe(list, func(uid types.UID) time.Time {
		if uid == unstarted.UID {
			return time.Unix(5, 0)
		}
		return time.Time{}
	})
	if len(got) != 2 || got[0].Name != "one" || got[0].Stats == nil || got[0].Stats.Memory < 32*mi || got[0].Stats.Processes < 1 || !got[0].TerminatesBy.IsZero() {
		t.Fatalf("observed %+v", got)
	}
	// A pod without a cgroup uses 0, which is known; it must not rank first for eviction.
	if s := got[1].Stats; s == nil || !s.MemoryKnown || s.Memory != 0 || !got[1].TerminatesBy.Equal(time.Unix(5, 0)) {
		t.Errorf("a pod that was not started: %+v", got[1])
	}
	if got := n.Stats.Observe(nil, never); len(got) != 0 {
		t.Errorf("got %d pods, want none", len(got))
	}
}

// The caller of Observe reads the result without a lock while others request a summary.
func TestSummaryKeepsObservation(t *testing.T) {
	n := fixtures.NewForTest(t, 512*mi, 600)
	if _, err := n.Run(fixtures.Spec{Name: "one", Args: []string{"-memory=1Mi"}}); err != nil {
		t.Fatal(err)
	}
	const mark = -7
	got := n.Stats.Observe(n.Pods(""), never)
	got[0].Stats.Memory = mark
	s := &stats.Summarizer{Node: "n1", Host: n.Host, Cgroup: n.Path, PodsCgroup: n.PodsPath(), List: func() []*corev1.Pod { return n.Pods("") }, Pods: n.Stats}
	if _, err := s.Summary(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got[0].Stats.Memory != mark {
		t.Error("a summary has changed what was observed")
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
	if allocs := testing.AllocsPerRun(100, func() { n.Stats.Observe(list, never) }); allocs > 0 {
		t.Errorf("observing pods allocates %v times", allocs)
	}
}

// fakeRuntime is a runtime and the volumes of pods.
type fakeRuntime struct {
	dir      string
	noLayers bool // the runtime reports only the usage in its statistics
}

var layerBytes = map[string]int64{"old": 900, "new": 5000}

func (d fakeRuntime) ListContainers(context.Context, *cri.ContainerFilter) ([]*cri.Container, error) {
	var out []*cri.Container
	for id := range layerBytes {
		out = append(out, &cri.Container{Id: id, Labels: map[string]string{"io.kubernetes.pod.uid": "u1", "io.kubernetes.container.name": "main"}})
	}
	return out, nil
}

func (d fakeRuntime) WritableLayer(_ context.Context, id string) (runtime.Layer, error) {
	if d.noLayers {
		return runtime.Layer{}, status.Error(codes.Unimplemented, "no layers")
	}
	return runtime.Layer{Key: id, Bytes: layerBytes[id], Inodes: 3}, nil
}

func (d fakeRuntime) ListContainerStats(context.Context, *cri.ContainerStatsFilter) (out []*cri.ContainerStats, err error) {
	list, _ := d.ListContainers(context.Background(), nil)
	for _, c := range list {
		out = append(out, &cri.ContainerStats{Attributes: &cri.ContainerAttributes{Id: c.Id, Labels: c.Labels},
			WritableLayer: &cri.FilesystemUsage{UsedBytes: &cri.UInt64Value{Value: uint64(layerBytes[c.Id])}, InodesUsed: &cri.UInt64Value{Value: 3}}})
	}
	return out, nil
}

func (d fakeRuntime) Usage(types.UID) ([]volume.Usage, error) {
	u := stats.MeasureDir(d.dir)
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
	d := fakeRuntime{filepath.Join(dir, "data"), noLayers}
	s := stats.NewPods(stats.Options{
		Host: n.Host, Cgroup: n.Cgroup, LogDir: func(*corev1.Pod) string { return filepath.Join(dir, "logs") }, Volumes: d, Containers: d,
		Files:      func(*corev1.Pod) []string { return []string{filepath.Join(dir, "hosts"), filepath.Join(dir, "none")} },
		MessageDir: func(_ *corev1.Pod, container string) string { return filepath.Join(dir, "messages", container) },
	})
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	pod.UID, pod.Name = "u1", "one"
	list := []*corev1.Pod{pod}
	if got := s.Observe(list, never); got[0].Stats.EphemeralKnown {
		t.Error("usage is reported before the first measurement")
	}
	if err := s.Measure(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	got := s.Observe(list, never)[0].Stats
	logs := stats.MeasureDir(filepath.Join(dir, "logs/main")).Bytes + stats.MeasureDir(filepath.Join(dir, "messages/main")).Bytes
	data := stats.MeasureDir(d.dir).Bytes
	if logs < 8192+4096 || data < 4096 || got.Files.Bytes != 8192 || got.Files.Inodes != 1 {
		t.Fatalf("measured %d and %d bytes, files %+v", logs, data, got.Files)
	}
	// The layers of all attempts count; memory volumes do not.
	if !got.EphemeralKnown || got.Ephemeral != 5900+logs+data+8192 {
		t.Errorf("ephemeral storage %d, want %d", got.Ephemeral, 5900+logs+data+8192)
	}
	if c := got.Containers; len(c) != 1 || c[0].RootFs.Bytes != 5900 || c[0].RootFs.Inodes != 6 || c[0].Logs.Bytes != logs {
		t.Errorf("containers %+v", c)
	}
	if v := got.Volumes; len(v) != 2 || v[0].Bytes != data || v[1].Bytes != 77 {
		t.Errorf("volumes %+v", v)
	}
	later := pod.DeepCopy()
	later.UID = "u2"
	if got := s.Observe(append(list, later), never)[1].Stats; !got.EphemeralKnown || got.Ephemeral != 0 {
		t.Errorf("a pod created later: %+v", got)
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
		t.Errorf("node's memory %+v", m)
	}
	if got.Node.CPU.UsageNanoCores == nil || *got.Node.Rlimit.MaxPID != 600 || *got.Node.Rlimit.NumOfRunningProcesses < 1 {
		t.Errorf("node's CPU %+v, processes %+v", got.Node.CPU, got.Node.Rlimit)
	}
	if fs := got.Node.Fs; fs == nil || *fs.CapacityBytes == 0 || *fs.AvailableBytes > *fs.CapacityBytes || got.Node.Runtime.ImageFs != nil {
		t.Errorf("node's disk %+v", fs)
	}
	if len(got.Node.SystemContainers) != 1 || got.Node.SystemContainers[0].Name != "pods" {
		t.Errorf("system containers %+v", got.Node.SystemContainers)
	}
	pod := got.Pods[0]
	if pod.PodRef.Name != "busy" || *pod.Memory.WorkingSetBytes < 32*mi || *pod.ProcessStats.ProcessCount < 1 {
		t.Errorf("pod %+v", pod)
	}
}

func TestDiskUsageIsCached(t *testing.T) {
	d := stats.NewDisk(t.TempDir())
	now := time.Now()
	first, err := d.Usage(now)
	if err != nil || first.Capacity == 0 || !first.At.Equal(now) {
		t.Fatalf("%+v, %v", first, err)
	}
	if u, _ := d.Usage(now.Add(1999 * time.Millisecond)); !u.At.Equal(now) {
		t.Error("read twice within 2 s")
	}
	if u, _ := d.Usage(now.Add(2 * time.Second)); u.At.Equal(now) {
		t.Error("not read again after 2 s")
	}
	if u, _ := d.Refresh(now.Add(2001 * time.Millisecond)); !u.At.Equal(now.Add(2001 * time.Millisecond)) {
		t.Error("not read again")
	}
	if _, err := stats.NewDisk("/no/such/directory").Usage(now); err == nil {
		t.Error("no error for a missing directory")
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
		t.Errorf("%+v with a link, %+v without", after, before)
	}
	if u := stats.MeasureDir(filepath.Join(dir, "none")); u != (stats.DirUsage{}) {
		t.Errorf("a missing directory has %+v", u)
	}
}
