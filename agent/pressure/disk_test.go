//go:build linux

package pressure_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

// scratch is a small file system with a directory per pod, and garbage that can be collected.
type scratch struct {
	*fixtures.Node
	dir   string
	mu    sync.Mutex
	calls []string
}

// newScratch mounts a tmpfs of 32 MiB and 1000 inodes. Its bytes and inodes run out like those of
// a disk, and this test does not measure memory.
func newScratch(t *testing.T) *scratch {
	t.Helper()
	n := fixtures.NewForTest(t, 512*mi, 600)
	s := &scratch{Node: n, dir: t.TempDir()}
	if err := unix.Mount("berth-test", s.dir, "tmpfs", 0, "size=32m,nr_inodes=1000"); err != nil {
		testkit.SkipOrFail(t, "mount", err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(s.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.Stats = stats.NewPods(stats.Options{Host: n.Host, Cgroup: n.Cgroup, Volumes: s})
	s.fill(t, "garbage", 4*mi)
	return s
}

// Usage measures a pod's directory.
func (s *scratch) Usage(uid types.UID) ([]volume.Usage, error) {
	dir := string(uid)
	if strings.HasPrefix(dir, "writer-") {
		dir = "growing" // the arguments of its process cannot contain the pod's UID
	}
	u := stats.MeasureDir(filepath.Join(s.dir, dir))
	return []volume.Usage{{Name: "data", Local: true, Bytes: u.Bytes, Inodes: u.Inodes}}, nil
}

// Pods removes the directories of evicted pods, as the agent does.
func (s *scratch) Pods(node string) []*corev1.Pod {
	list := s.Node.Pods(node)
	existing := map[string]bool{"garbage": true, "growing": true}
	for _, p := range list {
		existing[string(p.UID)] = true
	}
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if !existing[e.Name()] {
			_ = os.RemoveAll(filepath.Join(s.dir, e.Name()))
		}
	}
	return list
}

func (s *scratch) collect(_ context.Context, containers, images bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf("containers %v, images %v, %d pods evicted before", containers, images, len(s.Evicted())))
	return os.RemoveAll(filepath.Join(s.dir, "garbage"))
}

func (s *scratch) collected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// fill appends up to the given number of bytes to the owner's file, until the file system is full.
func (s *scratch) fill(t *testing.T, owner string, bytes int) {
	t.Helper()
	dir := filepath.Join(s.dir, owner)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "data"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for written := 0; written < bytes; written += len(block) {
		if _, err := f.Write(block); err != nil {
			return // full
		}
	}
}

// createFiles creates up to n files, until the file system is full.
func (s *scratch) createFiles(t *testing.T, owner string, n int) {
	t.Helper()
	dir := filepath.Join(s.dir, owner, "many")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return
		}
		_ = f.Close()
	}
}

// diskConfig returns thresholds of 20% for nodefs bytes and inodes.
func diskConfig() nodepressure.Config {
	c := nodepressure.Config{Options: nodepressure.AllOptions(), TransitionPeriod: time.Second, LocalStorage: true}
	for _, signal := range []nodepressure.Signal{nodepressure.NodeFsAvailable, nodepressure.NodeFsInodesFree} {
		c.Thresholds = append(c.Thresholds, nodepressure.Threshold{Signal: signal, Value: nodepressure.Value{Percentage: 0.2}})
	}
	return c
}

// watchDisk monitors the scratch disk as nodefs and imagefs.
func watchDisk(t *testing.T, s *scratch) *pressure.Manager {
	t.Helper()
	disk := stats.NewDisk(s.dir)
	m, stop := newManagerWithAgent(t, s.Node, s, diskConfig(), func(o *pressure.Options) {
		o.Stats, o.Collect = s.Stats, s.collect
		o.NodeFs, o.ImageFs, o.ContainerFs = disk, disk, disk
		o.Reserve = nodepressure.DiskReserveConfig{Bytes: [nodepressure.NumFilesystems]int64{4 * mi, 4 * mi}, TransitionPeriod: time.Second}
	})
	t.Cleanup(stop)
	return m
}

// startIdlePod starts a pod that only waits.
func startIdlePod(t *testing.T, s *scratch, name string) *fixtures.Pod {
	t.Helper()
	p := start(t, s.Node, fixtures.Spec{Name: name, Args: []string{"-memory=1Mi"}})
	if err := p.WaitForLine("memory done"); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDiskPressure checks that garbage is collected first, then the largest pod is evicted. It also fills the disk
// completely. Pods are rejected until space is free.
func TestDiskPressure(t *testing.T) {
	t.Parallel() // mostly waiting
	s := newScratch(t)
	small, large := startIdlePod(t, s, "small"), startIdlePod(t, s, "large")
	s.fill(t, string(small.Object.UID), 4*mi)
	s.fill(t, string(large.Object.UID), 12*mi)
	m := watchDisk(t, s)
	if r := m.Admit(small.Object); r != nil {
		t.Fatalf("Admit with available space: %+v, want nil", r)
	}
	// 20 of 32 MiB are in use. 28 MiB exceed the threshold only together with the garbage.
	s.fill(t, string(large.Object.UID), 8*mi)
	waitUntil(t, "garbage is collected", func() bool { return len(s.collected()) > 0 })
	if calls := s.collected(); calls[0] != "containers true, images true, 0 pods evicted before" {
		t.Errorf("first garbage collection: %q, want of containers and images before any eviction", calls[0])
	}
	waitUntil(t, "DiskPressure is False", func() bool { return condition(m, "DiskPressure") == "False" })
	if names := s.EvictedNames(); len(names) > 0 {
		t.Fatalf("evicted %v, want none: garbage collection frees enough", names)
	}
	s.fill(t, string(large.Object.UID), 64*mi) // until the disk is full
	waitUntil(t, "pods are rejected", func() bool { return m.Admit(small.Object) != nil })
	if taints := m.Taints(); condition(m, "OutOfDisk") == "True" && (len(taints) != 1 || taints[0].Effect != corev1.TaintEffectNoSchedule) {
		t.Errorf("taints %v, want one with NoSchedule", taints)
	}
	<-large.Exited()
	waitUntil(t, "the pod is evicted", func() bool { return len(s.EvictedNames()) > 0 })
	s.Pods("")
	waitUntil(t, "pods are admitted again", func() bool {
		return m.Admit(small.Object) == nil && condition(m, "DiskPressure") == "False" && condition(m, "OutOfDisk") == "False" && len(m.Taints()) == 0
	})
	if names := s.EvictedNames(); len(names) != 1 || names[0] != "large" {
		t.Errorf("evicted %v, want only large", names)
	}
}

// TestInodePressure checks that the pod with the most inodes is evicted, not the one with the
// most bytes.
func TestInodePressure(t *testing.T) {
	t.Parallel()
	s := newScratch(t)
	bytes, inodes := startIdlePod(t, s, "bytes"), startIdlePod(t, s, "inodes")
	s.fill(t, string(bytes.Object.UID), 16*mi)
	m := watchDisk(t, s)
	s.createFiles(t, string(inodes.Object.UID), 2000)
	<-inodes.Exited()
	waitUntil(t, "the pod is evicted", func() bool { return len(s.EvictedNames()) > 0 })
	s.Pods("")
	waitUntil(t, "DiskPressure is False", func() bool { return condition(m, "DiskPressure") == "False" })
	if names := s.EvictedNames(); len(names) != 1 || names[0] != "inodes" {
		t.Errorf("evicted %v, want only inodes", names)
	}
}

// TestSoakDiskEvictionMessage evicts a pod that keeps writing while garbage is collected. The usage
// in the message must be within 5 % of what the pod has written when it exits.
func TestSoakDiskEvictionMessage(t *testing.T) {
	t.Parallel()
	runs := 1
	if os.Getenv("BERTH_SOAK") != "" {
		runs = 10
	}
	for range runs {
		testDiskEvictionMessage(t)
	}
}

func testDiskEvictionMessage(t *testing.T) {
	s := newScratch(t)
	purged := make(chan types.UID, 1)
	disk := stats.NewDisk(s.dir)
	if err := os.Mkdir(filepath.Join(s.dir, "growing"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, stop := newManagerWithAgent(t, s.Node, s, diskConfig(), func(o *pressure.Options) {
		o.Stats, o.NodeFs, o.ImageFs, o.ContainerFs = s.Stats, disk, disk, disk
		o.Collect = func(ctx context.Context, containers, images bool) error {
			err := s.collect(ctx, containers, images)
			time.Sleep(500 * time.Millisecond) // a real collection takes time, too
			return err
		}
		o.Purge = func(pod types.UID) { purged <- pod }
	})
	defer stop()
	data := filepath.Join(s.dir, "growing", "data")
	writer := start(t, s.Node, fixtures.Spec{Name: "writer", Args: []string{"-write=31Mi", "-write-rate=5Mi", "-write-to=" + data, "-after=1h"}})
	<-writer.Exited()
	waitUntil(t, "the eviction is reported", func() bool { return len(s.Evicted()) > 0 })
	written := stats.MeasureDir(filepath.Join(s.dir, "growing")).Bytes
	message := s.Evicted()[0].Message
	match := regexp.MustCompile(`Volume data was using (\w+)\.`).FindStringSubmatch(message)
	if match == nil {
		t.Fatalf("message %q, want the usage of volume data in it", message)
	}
	used := resource.MustParse(match[1])
	if n := used.Value(); n < written*95/100 || n > written*105/100 {
		t.Errorf("message %q, want usage within 5 %% of %d bytes", message, written)
	}
	if uid := <-purged; uid != writer.Object.UID {
		t.Errorf("purged pod %s, want %s", uid, writer.Object.UID)
	}
}
