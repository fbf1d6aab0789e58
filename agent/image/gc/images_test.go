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

type fixture struct {
	*Collector
	service *fake.Service
	now     time.Time
	events  []string
}

func newFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	b := &fixture{service: fake.New(), now: time.Unix(1e9, 0)}
	if o.Service == nil {
		o.Service = b.service
	}
	if o.ImageFs == nil {
		o.ImageFs = stats.NewDisk("/")
	}
	o.Now = func() time.Time { return b.now }
	o.RecordEvent = func(_, reason, message string) { b.events = append(b.events, reason+": "+message) }
	var err error
	if b.Collector, err = New(o); err != nil {
		t.Fatal(err)
	}
	return b
}

// collectAfter advances the clock and collects images, ignoring that the disk does not become
// empty.
func (b *fixture) collectAfter(t *testing.T, later time.Duration) {
	t.Helper()
	b.now = b.now.Add(later)
	if err := b.CollectImages(context.Background()); err != nil && !strings.HasPrefix(err.Error(), "Insufficient free disk space") {
		t.Fatal(err)
	}
}

// removed returns the removed images, in order.
func (b *fixture) removed() (out []string) {
	for _, c := range b.service.Calls() {
		if name, ok := strings.CutPrefix(c, "RemoveImage "); ok {
			out = append(out, name)
		}
	}
	return out
}

// addContainer adds a container that uses the image.
func (b *fixture) addContainer(t *testing.T, image string) (sandbox string) {
	t.Helper()
	ctx := context.Background()
	config := &criapi.PodSandboxConfig{Metadata: &criapi.PodSandboxMetadata{Name: "of-" + image}}
	sandbox, err := b.service.RunPodSandbox(ctx, config, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.service.CreateContainer(ctx, sandbox, &criapi.ContainerConfig{Metadata: &criapi.ContainerMetadata{Name: "c"}, Image: &criapi.ImageSpec{Image: image}}, config); err != nil {
		t.Fatal(err)
	}
	return sandbox
}

func TestImageOrder(t *testing.T) {
	b := newFixture(t, Options{Policy: eagerPolicy(), PinnedImages: []string{"pause:1"}, VolumeImages: func() []string { return []string{"volume:1"} }})
	for _, name := range []string{"pause:1", "volume:1", "pinned:1", "first:1"} {
		b.service.PutImage(name, 10)
	}
	b.service.PutImage("pinned:1", 10).Pinned = true
	b.service.PutImage("used:1", 10)
	b.addContainer(t, "used:1")
	b.collectAfter(t, 0)
	b.service.PutImage("second:1", 10)
	b.collectAfter(t, time.Minute)
	if got := b.removed(); len(got) > 0 {
		t.Errorf("removed %q before they are 2 minutes old", got)
	}
	b.collectAfter(t, time.Minute)
	b.collectAfter(t, time.Minute)
	if got := b.removed(); !slices.Equal(got, []string{"first:1", "second:1"}) {
		t.Errorf("removed %q, want the unused images in the order of first detection", got)
	}
}

// An image that was in use is removed after those that never were.
func TestLastUsed(t *testing.T) {
	b := newFixture(t, Options{Policy: eagerPolicy()})
	b.service.PutImage("used:1", 10)
	sandbox := b.addContainer(t, "used:1")
	b.collectAfter(t, 0)
	b.service.PutImage("never:1", 10)
	b.collectAfter(t, time.Minute)
	if err := b.service.RemovePodSandbox(context.Background(), sandbox); err != nil {
		t.Fatal(err)
	}
	b.collectAfter(t, 5*time.Minute)
	if got := b.removed(); !slices.Equal(got, []string{"never:1", "used:1"}) {
		t.Errorf("removed %q, want the one that was never used first", got)
	}
}

// Images beyond the maximum age are removed from a disk with free space, once the agent has run
// that long.
func TestMaxAge(t *testing.T) {
	policy := DefaultPolicy()
	policy.HighThresholdPercent, policy.LowThresholdPercent, policy.MaxAge = 100, 99, time.Hour
	b := newFixture(t, Options{Policy: policy})
	b.service.PutImage("old:1", 10)
	b.service.PutImage("used:1", 10)
	b.addContainer(t, "used:1")
	b.collectAfter(t, 0)
	b.collectAfter(t, time.Hour)
	if got := b.removed(); len(got) > 0 {
		t.Errorf("removed %q before the agent has run for the maximum age", got)
	}
	b.service.PutImage("new:1", 10)
	b.collectAfter(t, time.Second)
	if got := b.removed(); !slices.Equal(got, []string{"old:1"}) {
		t.Errorf("removed %q, want the old one", got)
	}
}

// Ages count from the pull, not from the collection that finds the disk full.
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

func TestRemovalErrors(t *testing.T) {
	b := newFixture(t, Options{Policy: DefaultPolicy(), ImageFs: stats.NewDisk("/proc")})
	if err := b.CollectImages(context.Background()); err == nil || !slices.Equal(b.events, []string{
		"InvalidDiskCapacity: invalid capacity 0 on image filesystem", "ImageGCFailed: invalid capacity 0 on image filesystem"}) {
		t.Errorf("a file system without capacity: %v, events %q", err, b.events)
	}
	b = newFixture(t, Options{Policy: DefaultPolicy(), ImageFs: stats.NewDisk("/nowhere")})
	if err := b.CollectImages(context.Background()); err == nil || len(b.events) != 1 || !strings.HasPrefix(b.events[0], "ImageGCFailed: file system of /nowhere: ") {
		t.Errorf("no file system: %v, events %q", err, b.events)
	}
	for _, method := range []string{"ListImages", "ListContainers"} {
		b = newFixture(t, Options{Policy: eagerPolicy()})
		b.service.PutImage("app:1", 10)
		b.service.Fail(method, errors.New("unavailable"))
		if err := b.CollectImages(context.Background()); err == nil || !strings.Contains(err.Error(), "unavailable") || len(b.removed()) > 0 {
			t.Errorf("%s failed: %v, removed %q, want an error and no removal", method, err, b.removed())
		}
	}
	// A failed removal does not affect other images.
	b = newFixture(t, Options{Policy: eagerPolicy()})
	b.service.PutImage("a:1", 10)
	b.service.PutImage("b:1", 10)
	b.collectAfter(t, 0)
	b.now = b.now.Add(time.Hour)
	b.service.Fail("RemoveImage", errors.New("busy"))
	if err := b.CollectImages(context.Background()); err == nil || !strings.Contains(err.Error(), "with errors in image deletion: image sha256:") || len(b.removed()) != 1 {
		t.Errorf("got %v, removed %q, want an error and the other removed", err, b.removed())
	}
}

// If a removal fails on a full disk, the ballast file is removed.
func TestBallast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ballast")
	service := &fullDiskService{Service: fake.New(), ballast: path}
	b := newFixture(t, Options{Service: service, Policy: eagerPolicy(), BallastFile: path})
	b.service = service.Service
	b.service.PutImage("app:1", 10)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	b.Run(ended)
	if info, err := os.Stat(path); err != nil || info.Size() != ballastBytes {
		t.Fatalf("ballast: %v, %v, want %d bytes", info, err, ballastBytes)
	}
	b.collectAfter(t, 0)
	b.collectAfter(t, time.Hour)
	if got := b.removed(); !slices.Equal(got, []string{"app:1"}) || service.failures != 1 {
		t.Errorf("removed %q after %d refusals, want the image after one", got, service.failures)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the ballast was not recreated: %v", err)
	}
}

// fullDiskService is a runtime on a full disk, which fails until the ballast is removed.
type fullDiskService struct {
	*fake.Service
	ballast  string
	failures int
}

func (c *fullDiskService) RemoveImage(ctx context.Context, i *criapi.ImageSpec) error {
	if _, err := os.Stat(c.ballast); err == nil {
		c.failures++
		return unix.ENOSPC
	}
	return c.Service.RemoveImage(ctx, i)
}
