package gc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/fake"
	"github.com/berthproject/berth/agent/stats"
)

// eagerPolicy sets the thresholds to an empty disk, so that every unused image is removed.
func eagerPolicy() Policy {
	p := DefaultPolicy()
	p.HighThresholdPercent, p.LowThresholdPercent = 1, 0
	return p
}

// fixture is a collector with a fake runtime and clock.
type fixture struct {
	*Collector
	service *fake.Service
	now     time.Time
	events  []string
}

func newFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	f := &fixture{service: fake.New(), now: time.Unix(1e9, 0)}
	if o.Service == nil {
		o.Service = f.service
	}
	if o.ImageFs == nil {
		o.ImageFs = stats.NewDisk("/")
	}
	o.Now = func() time.Time { return f.now }
	o.RecordEvent = func(_, reason, message string) { f.events = append(f.events, reason+": "+message) }
	var err error
	if f.Collector, err = New(o); err != nil {
		t.Fatal(err)
	}
	return f
}

// collectAfter advances the clock and collects images, ignoring that the disk does not become
// empty.
func (f *fixture) collectAfter(t *testing.T, elapsed time.Duration) {
	t.Helper()
	f.now = f.now.Add(elapsed)
	if err := f.CollectImages(context.Background()); err != nil && !strings.HasPrefix(err.Error(), "Insufficient free disk space") {
		t.Fatal(err)
	}
}

// removed returns the removed images, in order.
func (f *fixture) removed() (out []string) {
	for _, c := range f.service.Calls() {
		if name, ok := strings.CutPrefix(c, "RemoveImage "); ok {
			out = append(out, name)
		}
	}
	return out
}

// addContainer adds a container that uses the image.
func (f *fixture) addContainer(t *testing.T, image string) (sandbox string) {
	t.Helper()
	ctx := context.Background()
	config := &criapi.PodSandboxConfig{Metadata: &criapi.PodSandboxMetadata{Name: "of-" + image}}
	sandbox, err := f.service.RunPodSandbox(ctx, config, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.service.CreateContainer(ctx, sandbox, &criapi.ContainerConfig{Metadata: &criapi.ContainerMetadata{Name: "c"}, Image: &criapi.ImageSpec{Image: image}}, config); err != nil {
		t.Fatal(err)
	}
	return sandbox
}

// TestImageOrder checks that unused images are removed in the order of their first detection. Images that are young,
// pinned or in use are kept.
func TestImageOrder(t *testing.T) {
	f := newFixture(t, Options{Policy: eagerPolicy(), PinnedImages: []string{"pause:1"}, VolumeImages: func() []string { return []string{"volume:1"} }})
	for _, name := range []string{"pause:1", "volume:1", "pinned:1", "first:1"} {
		f.service.PutImage(name, 10)
	}
	f.service.PutImage("pinned:1", 10).Pinned = true
	f.service.PutImage("used:1", 10)
	f.addContainer(t, "used:1")
	f.collectAfter(t, 0)
	f.service.PutImage("second:1", 10)
	f.collectAfter(t, time.Minute)
	if got := f.removed(); len(got) > 0 {
		t.Errorf("removed %q before they are 2 minutes old, want none", got)
	}
	f.collectAfter(t, time.Minute)
	f.collectAfter(t, time.Minute)
	if got := f.removed(); !slices.Equal(got, []string{"first:1", "second:1"}) {
		t.Errorf("removed %q, want first:1 and second:1, in the order of first detection", got)
	}
}

// TestLastUsed checks that an image that was in use is removed after images that were never used.
func TestLastUsed(t *testing.T) {
	f := newFixture(t, Options{Policy: eagerPolicy()})
	f.service.PutImage("used:1", 10)
	sandbox := f.addContainer(t, "used:1")
	f.collectAfter(t, 0)
	f.service.PutImage("unused:1", 10)
	f.collectAfter(t, time.Minute)
	if err := f.service.RemovePodSandbox(context.Background(), sandbox); err != nil {
		t.Fatal(err)
	}
	f.collectAfter(t, 5*time.Minute)
	if got := f.removed(); !slices.Equal(got, []string{"unused:1", "used:1"}) {
		t.Errorf("removed %q, want unused:1, which was never used, and then used:1", got)
	}
}

// TestMaxAge checks that images beyond the maximum age are removed from a disk with free space, once
// the agent has run for that time.
func TestMaxAge(t *testing.T) {
	policy := DefaultPolicy()
	policy.HighThresholdPercent, policy.LowThresholdPercent, policy.MaxAge = 100, 99, time.Hour
	f := newFixture(t, Options{Policy: policy})
	f.service.PutImage("old:1", 10)
	f.service.PutImage("used:1", 10)
	f.addContainer(t, "used:1")
	f.collectAfter(t, 0)
	f.collectAfter(t, time.Hour)
	if got := f.removed(); len(got) > 0 {
		t.Errorf("removed %q before the agent has run for the maximum age, want none", got)
	}
	f.service.PutImage("new:1", 10)
	f.collectAfter(t, time.Second)
	if got := f.removed(); !slices.Equal(got, []string{"old:1"}) {
		t.Errorf("removed %q, want old:1", got)
	}
}

// TestImageAges checks that ages count from the pull, not from the collection that finds the disk
// full.
func TestImageAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := fake.New("app:1")
		c, err := New(Options{Service: service, ImageFs: stats.NewDisk("/"), Policy: eagerPolicy()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Run(ctx)
		time.Sleep(time.Minute)
		service.PutImage("new:1", 10)
		c.ImagePulled()
		time.Sleep(time.Minute + time.Second)
		if err := c.Reclaim(ctx, true, true); err != nil || !slices.Equal(service.Calls(), []string{"RemoveImage app:1"}) {
			t.Errorf("after two minutes: %q, %v, want only the first image removed", service.Calls(), err)
		}
		time.Sleep(time.Minute)
		if err := c.Reclaim(ctx, true, true); err != nil || !slices.Equal(service.Calls(), []string{"RemoveImage app:1", "RemoveImage new:1"}) {
			t.Errorf("after three minutes: %q, %v, want both images removed", service.Calls(), err)
		}
	})
}

// TestCollectionErrors checks the errors and events of collections that fail.
func TestCollectionErrors(t *testing.T) {
	f := newFixture(t, Options{Policy: DefaultPolicy(), ImageFs: stats.NewDisk("/proc")})
	if err := f.CollectImages(context.Background()); err == nil || !slices.Equal(f.events, []string{
		"InvalidDiskCapacity: invalid capacity 0 on image filesystem", "ImageGCFailed: invalid capacity 0 on image filesystem"}) {
		t.Errorf("file system without capacity: %v, events %q, want an error and two events", err, f.events)
	}
	f = newFixture(t, Options{Policy: DefaultPolicy(), ImageFs: stats.NewDisk("/missing")})
	if err := f.CollectImages(context.Background()); err == nil || len(f.events) != 1 || !strings.HasPrefix(f.events[0], "ImageGCFailed: file system of /missing: ") {
		t.Errorf("missing file system: %v, events %q, want ImageGCFailed", err, f.events)
	}
	for _, method := range []string{"ListImages", "ListContainers"} {
		f = newFixture(t, Options{Policy: eagerPolicy()})
		f.service.PutImage("app:1", 10)
		f.service.Fail(method, errors.New("unavailable"))
		if err := f.CollectImages(context.Background()); err == nil || !strings.Contains(err.Error(), "unavailable") || len(f.removed()) > 0 {
			t.Errorf("%s failed: %v, removed %q, want an error and no removal", method, err, f.removed())
		}
	}
	// A failed removal does not affect other images.
	f = newFixture(t, Options{Policy: eagerPolicy()})
	f.service.PutImage("a:1", 10)
	f.service.PutImage("b:1", 10)
	f.collectAfter(t, 0)
	f.now = f.now.Add(time.Hour)
	f.service.Fail("RemoveImage", errors.New("busy"))
	if err := f.CollectImages(context.Background()); err == nil || !strings.Contains(err.Error(), "with errors in image deletion: image sha256:") || len(f.removed()) != 1 {
		t.Errorf("got %v, removed %q, want an error and one removal", err, f.removed())
	}
}

// TestBallast checks that the ballast file is removed if a full disk prevents the removal of an image. The file exists
// again after the collection.
func TestBallast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ballast")
	service := &fullDiskService{Service: fake.New(), ballast: path}
	f := newFixture(t, Options{Service: service, Policy: eagerPolicy(), BallastFile: path})
	f.service = service.Service
	f.service.PutImage("app:1", 10)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	f.Run(canceled)
	if info, err := os.Stat(path); err != nil || info.Size() != ballastBytes {
		t.Fatalf("ballast: %v, %v, want %d bytes", info, err, ballastBytes)
	}
	f.collectAfter(t, 0)
	f.collectAfter(t, time.Hour)
	if got := f.removed(); !slices.Equal(got, []string{"app:1"}) || service.failures != 1 {
		t.Errorf("removed %q after %d failures, want app:1 after 1", got, service.failures)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("ballast file after the collection: %v, want it to exist", err)
	}
}

// TestNoBallastWithoutSpace checks that no file remains if the disk has too little space for the ballast.
func TestNoBallastWithoutSpace(t *testing.T) {
	b := ballast{path: filepath.Join(t.TempDir(), "ballast"), bytes: 1 << 60}
	if err := b.create(); err != nil || b.exists {
		t.Errorf("create: %v, exists %t, want no error and no ballast", err, b.exists)
	}
	if _, err := os.Stat(b.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of the ballast: %v, want that it does not exist", err)
	}
}

// fullDiskService is a runtime on a full disk, which fails until the ballast is removed.
type fullDiskService struct {
	*fake.Service
	ballast  string
	failures int
}

func (s *fullDiskService) RemoveImage(ctx context.Context, i *criapi.ImageSpec) error {
	if _, err := os.Stat(s.ballast); err == nil {
		s.failures++
		return unix.ENOSPC
	}
	return s.Service.RemoveImage(ctx, i)
}
