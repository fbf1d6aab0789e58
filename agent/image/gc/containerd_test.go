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

// containerdFixture is a containerd whose images are on a separate disk.
type containerdFixture struct {
	*container.Containerd
	registry  *oci.Registry
	disk      string
	now       time.Time
	events    []string
	collector *gc.Collector
}

// newContainerdFixture starts a containerd on a disk of the given size in bytes.
func newContainerdFixture(t *testing.T, bytes int64) *containerdFixture {
	f := &containerdFixture{disk: container.Disk(t, bytes, 0), now: time.Now()}
	f.Containerd = container.StartContainerd(t, func(o *containerd.Options) { o.Dir = filepath.Join(f.disk, "c") })
	f.LoadWorkload(t)
	f.registry = container.Registry(t)
	var err error
	f.collector, err = gc.New(gc.Options{
		Service: f.Service, ImageFs: stats.NewDisk(f.disk), Policy: gc.DefaultPolicy(), PinnedImages: []string{containerd.PauseImage},
		BallastFile: filepath.Join(f.disk, "ballast"), Now: func() time.Time { return f.now },
		RecordEvent: func(_, reason, message string) { f.events = append(f.events, reason+": "+message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// Run creates the ballast file even if its context is canceled.
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	f.collector.Run(canceled)
	return f
}

// pull pulls an incompressible image of the given size, which uses twice that on disk:
// compressed and unpacked.
func (f *containerdFixture) pull(t *testing.T, name string, bytes int) {
	t.Helper()
	data := make([]byte, bytes)
	rand.New(rand.NewSource(int64(len(name)) + int64(bytes) + int64(name[len(name)-1]))).Read(data)
	image, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: "/data", Mode: 0o644, Data: data}}}})
	if err != nil {
		t.Fatal(err)
	}
	imageName, err := f.registry.Add(name, "1", image)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Service.PullImage(context.Background(), &criapi.ImageSpec{Image: imageName}, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// images returns the short names of the present images.
func (f *containerdFixture) images(t *testing.T) (out []string) {
	t.Helper()
	list, err := f.Service.ListImages(context.Background())
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

// usage returns the used percentage and the available bytes of the disk.
func (f *containerdFixture) usage(t *testing.T) (percent int, available int64) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(f.disk, &s); err != nil {
		t.Fatal(err)
	}
	return int(100 - s.Bavail*100/s.Blocks), int64(s.Bavail) * s.Frsize
}

// TestImagesOnRealDisk checks when and in which order containerd's images are removed from a small
// disk, and that a full disk does not prevent the removal.
func TestImagesOnRealDisk(t *testing.T) {
	f := newContainerdFixture(t, 128*mib)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	f.Run(t, container.Pod{Name: "user", Args: []string{"-listen=:80"}}) // its image is in use
	for i := range 5 {
		if i == 0 {
			// Another image takes over the tag, so that the first becomes untagged.
			f.pull(t, "tagged", 3*mib)
			f.pull(t, "tagged", 2*mib)
		}
		f.pull(t, fmt.Sprint("app", i), 6*mib)
	}
	if percent, _ := f.usage(t); percent >= 85 {
		t.Fatalf("the disk usage is %d %% before the test fills it: make the disk larger", percent)
	}
	before := f.images(t)
	if err := f.collector.CollectImages(ctx); err != nil || !slices.Equal(f.images(t), before) {
		t.Fatalf("below the high threshold: %v, images %q, want no change", err, f.images(t))
	}
	// All images have been detected. app0 becomes the most recently used one.
	f.now = f.now.Add(time.Minute)
	f.useImage(t, "app0")
	f.fillTo(t, 14)
	if err := f.collector.CollectImages(ctx); err == nil || !strings.Contains(err.Error(), "freed 0 bytes") || len(f.events) != 2 {
		t.Errorf("above the threshold, all images too young: %v, events %q, want an error and an event", err, f.events)
	}
	f.now, f.events = f.now.Add(2*time.Minute), nil
	if err := f.collector.CollectImages(ctx); err != nil || len(f.events) > 0 {
		t.Errorf("above the high threshold: %v, events %q, want none", err, f.events)
	}
	percent, _ := f.usage(t)
	remaining := f.images(t)
	if percent > 80 || percent < 65 {
		t.Errorf("the disk is at %d %%, want 65 to 80 %%; images %q", percent, remaining)
	}
	if !slices.Contains(remaining, "app0") || !slices.Contains(remaining, "workload") || !slices.Contains(remaining, "pause") || len(remaining) == len(before) {
		t.Errorf("remaining images %q of %q, want app0, which was used last, and those in use", remaining, before)
	}
	collectOnFullDisk(ctx, t, f)
}

// collectOnFullDisk fills the disk completely and checks that a collection frees space.
func collectOnFullDisk(ctx context.Context, t *testing.T, f *containerdFixture) {
	f.fillTo(t, 0)
	if _, available := f.usage(t); available != 0 {
		t.Fatalf("%d bytes are available, want 0", available)
	}
	if err := f.collector.Reclaim(ctx, true, true); err != nil {
		t.Error(err)
	}
	if remaining := f.images(t); !slices.Equal(remaining, []string{"pause", "workload"}) {
		t.Errorf("remaining images %q, want those in use only", remaining)
	}
	if _, available := f.usage(t); available < 10*mib {
		t.Errorf("%d bytes are available, want the space of the images", available)
	}
	// No unused image remains: the collection reports an error.
	f.fillTo(t, 0)
	f.events = nil
	err := f.collector.CollectImages(ctx)
	if err == nil || len(f.events) != 2 || !strings.HasPrefix(f.events[0], "FreeDiskSpaceFailed: Insufficient free disk space on the node's image filesystem (100.0% of ") ||
		!strings.HasPrefix(f.events[1], "ImageGCFailed: Insufficient free disk space") {
		t.Errorf("disk filled by other files: %v, events %q, want an error and two events", err, f.events)
	}
	for _, path := range f.fillerFiles(t) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.collector.CollectImages(ctx); err != nil {
		t.Errorf("after freeing space: %v, want no error", err)
	}
	if _, err := os.Stat(filepath.Join(f.disk, "ballast")); err != nil {
		t.Errorf("ballast file after the collection: %v, want it to exist", err)
	}
	_, id := f.Run(t, container.Pod{Name: "next", Args: []string{"-exit=4"}})
	if s := f.WaitExited(t, id); s.ExitCode != 4 {
		t.Errorf("the next pod exited with %d, want 4", s.ExitCode)
	}
}

// useImage creates a container of the image, lets the collector detect it, and removes the container.
func (f *containerdFixture) useImage(t *testing.T, name string) {
	t.Helper()
	ctx := context.Background()
	sandbox := &criapi.PodSandboxConfig{Metadata: &criapi.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"},
		Linux: &criapi.LinuxPodSandboxConfig{CgroupParent: filepath.Join(f.Cgroup, name)}}
	id, err := f.Service.RunPodSandbox(ctx, sandbox, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Service.CreateContainer(ctx, id, &criapi.ContainerConfig{Metadata: &criapi.ContainerMetadata{Name: name},
		Image: &criapi.ImageSpec{Image: f.registry.Host() + "/" + name + ":1"}, Command: []string{"/data"}}, sandbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.collector.CollectImages(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.Service.StopPodSandbox(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := f.Service.RemovePodSandbox(ctx, id); err != nil {
		t.Fatal(err)
	}
}

// fillTo writes a file until the given percentage of the disk is available.
func (f *containerdFixture) fillTo(t *testing.T, percent int64) {
	t.Helper()
	file, err := os.CreateTemp(f.disk, "filler-")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	blocks := int64(s.Bavail) - int64(s.Blocks)*percent/100
	block := make([]byte, s.Frsize)
	for range blocks {
		if _, err := file.Write(block); err != nil {
			break
		}
	}
	if err := file.Sync(); err != nil && percent > 0 {
		t.Fatal(err)
	}
	if percent > 0 {
		return
	}
	// Metadata uses space too: fill the remaining blocks.
	for {
		if _, err := file.Write(block); err != nil {
			return
		}
	}
}

// fillerFiles returns the files of fillTo.
func (f *containerdFixture) fillerFiles(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(f.disk, "filler-*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("filler files %v, %v, want at least one", list, err)
	}
	return list
}
