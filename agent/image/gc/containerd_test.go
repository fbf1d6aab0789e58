package gc_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/gc"
	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/internal/testkit/container"
)

const mib = 1 << 20

// liveFixture is a containerd whose images are on a separate disk.
type liveFixture struct {
	*container.Containerd
	registry  *oci.Registry
	disk      string
	now       time.Time
	events    []string
	collector *gc.Collector
}

func newLiveFixture(t *testing.T, bytes int64) *liveFixture {
	g := &liveFixture{disk: container.Disk(t, bytes, 0), now: time.Now()}
	g.Containerd = container.StartContainerd(t, func(o *containerd.Options) { o.Dir = filepath.Join(g.disk, "c") })
	g.LoadWorkload(t)
	g.registry = container.Registry(t)
	var err error
	g.collector, err = gc.New(gc.Options{
		Service: g.Service, ImageFs: stats.NewDisk(g.disk), Policy: gc.DefaultPolicy(), PinnedImages: []string{containerd.PauseImage},
		BallastFile: filepath.Join(g.disk, "ballast"), Now: func() time.Time { return g.now },
		RecordEvent: func(_, reason, message string) { g.events = append(g.events, reason+": "+message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// Like the start of Run.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	g.collector.Run(ended)
	return g
}

// pull pulls an incompressible image of the given size, which uses twice that on disk:
// compressed and unpacked.
func (g *liveFixture) pull(t *testing.T, name string, bytes int) {
	t.Helper()
	data := make([]byte, bytes)
	rand.New(rand.NewSource(int64(len(name)) + int64(bytes) + int64(name[len(name)-1]))).Read(data)
	image, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: "/data", Mode: 0o644, Data: data}}}})
	if err != nil {
		t.Fatal(err)
	}
	full, err := g.registry.Add(name, "1", image)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Service.PullImage(context.Background(), &criapi.ImageSpec{Image: full}, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// images returns the short names of the present images.
func (g *liveFixture) images(t *testing.T) (out []string) {
	t.Helper()
	list, err := g.Service.ListImages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		name := "(no tag)"
		if len(i.RepoTags) > 0 {
			name = strings.TrimSuffix(i.RepoTags[0][strings.LastIndex(i.RepoTags[0], "/")+1:], ":1")
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (g *liveFixture) usage(t *testing.T) (percent int, available int64) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(g.disk, &s); err != nil {
		t.Fatal(err)
	}
	return int(100 - s.Bavail*100/s.Blocks), int64(s.Bavail) * s.Frsize
}

func TestImagesOnRealDisk(t *testing.T) {
	g := newLiveFixture(t, 128*mib)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	g.Run(t, container.Pod{Name: "user", Args: []string{"-listen=:80"}}) // its image is in use
	for i := range 5 {
		if i == 0 {
			// Another image takes over the tag, so that the first becomes untagged.
			g.pull(t, "tagged", 3*mib)
			g.pull(t, "tagged", 2*mib)
		}
		g.pull(t, fmt.Sprint("app", i), 6*mib)
	}
	if percent, _ := g.usage(t); percent >= 85 {
		t.Fatalf("the disk usage is %d %% before the test fills it: make the disk larger", percent)
	}
	before := g.images(t)
	if err := g.collector.CollectImages(ctx); err != nil || !slices.Equal(g.images(t), before) {
		t.Fatalf("below the high threshold: %v, images %q, want no change", err, g.images(t))
	}
	// All images are detected now; app0 was used last.
	g.now = g.now.Add(time.Minute)
	g.useImage(t, "app0")
	g.fillTo(t, 14)
	if err := g.collector.CollectImages(ctx); err == nil || !strings.Contains(err.Error(), "freed 0 bytes") || len(g.events) != 2 {
		t.Errorf("above the threshold, all images too young: %v, events %q, want an error and an event", err, g.events)
	}
	g.now, g.events = g.now.Add(2*time.Minute), nil
	if err := g.collector.CollectImages(ctx); err != nil || len(g.events) > 0 {
		t.Errorf("above the high threshold: %v, events %q", err, g.events)
	}
	percent, _ := g.usage(t)
	remaining := g.images(t)
	if percent > 80 || percent < 65 {
		t.Errorf("the disk is at %d %%, want 80 or little less; images %q", percent, remaining)
	}
	if !slices.Contains(remaining, "app0") || !slices.Contains(remaining, "workload") || !slices.Contains(remaining, "pause") || len(remaining) == len(before) {
		t.Errorf("remaining images %q of %q, want app0, which was used last, and those in use", remaining, before)
	}
	collectOnFullDisk(ctx, t, g)
}

// collectOnFullDisk fills the disk completely and checks that the collection still frees space.
func collectOnFullDisk(ctx context.Context, t *testing.T, g *liveFixture) {
	g.fillTo(t, 0)
	if _, available := g.usage(t); available != 0 {
		t.Fatalf("%d bytes are available, want 0", available)
	}
	if err := g.collector.Reclaim(ctx, true, true); err != nil {
		t.Error(err)
	}
	if remaining := g.images(t); !slices.Equal(remaining, []string{"pause", "workload"}) {
		t.Errorf("remaining images %q, want those in use only", remaining)
	}
	if _, available := g.usage(t); available < 10*mib {
		t.Errorf("%d bytes are available, want the space of the images", available)
	}
	// No image is left to remove: the collection reports an error.
	g.fillTo(t, 0)
	g.events = nil
	err := g.collector.CollectImages(ctx)
	if err == nil || len(g.events) != 2 || !strings.HasPrefix(g.events[0], "FreeDiskSpaceFailed: Insufficient free disk space on the node's image filesystem (100.0% of ") ||
		!strings.HasPrefix(g.events[1], "ImageGCFailed: Insufficient free disk space") {
		t.Errorf("a disk filled by other files: %v, events %q", err, g.events)
	}
	for _, path := range g.fillerFiles(t) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.collector.CollectImages(ctx); err != nil {
		t.Errorf("after freeing space: %v", err)
	}
	if _, err := os.Stat(filepath.Join(g.disk, "ballast")); err != nil {
		t.Errorf("the ballast was not recreated: %v", err)
	}
	_, id := g.Run(t, container.Pod{Name: "after", Args: []string{"-exit=4"}})
	if s := g.WaitExited(t, id); s.ExitCode != 4 {
		t.Errorf("a pod after that ended with %d, want 4", s.ExitCode)
	}
}

// useImage uses the image by a short-lived container.
func (g *liveFixture) useImage(t *testing.T, name string) {
	t.Helper()
	ctx := context.Background()
	sandbox := &criapi.PodSandboxConfig{Metadata: &criapi.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"},
		Linux: &criapi.LinuxPodSandboxConfig{CgroupParent: filepath.Join(g.Cgroup, name)}}
	id, err := g.Service.RunPodSandbox(ctx, sandbox, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Service.CreateContainer(ctx, id, &criapi.ContainerConfig{Metadata: &criapi.ContainerMetadata{Name: name},
		Image: &criapi.ImageSpec{Image: g.registry.Host() + "/" + name + ":1"}, Command: []string{"/data"}}, sandbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.collector.CollectImages(ctx); err != nil {
		t.Fatal(err)
	}
	if err := g.Service.StopPodSandbox(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := g.Service.RemovePodSandbox(ctx, id); err != nil {
		t.Fatal(err)
	}
}

// fillTo writes a file until the given percentage of the disk is available.
func (g *liveFixture) fillTo(t *testing.T, percent int64) {
	t.Helper()
	f, err := os.CreateTemp(g.disk, "filler-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	want := int64(s.Bavail) - int64(s.Blocks)*percent/100
	block := make([]byte, s.Frsize)
	for range want {
		if _, err := f.Write(block); err != nil {
			break
		}
	}
	if err := f.Sync(); err != nil && percent > 0 {
		t.Fatal(err)
	}
	if percent > 0 {
		return
	}
	// Metadata uses space too; fill what is left.
	for {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}

func (g *liveFixture) fillerFiles(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(g.disk, "filler-*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no filler found: %v", err)
	}
	return list
}
