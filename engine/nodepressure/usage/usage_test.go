package usage

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/nodepressure"
)

const gi = 1 << 30

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func mustParsePod(t *testing.T, text string) *Script {
	t.Helper()
	s, err := ParsePod(text)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestAmountsOverTime(t *testing.T) {
	s := mustParsePod(t, "memory=50Mi@10s,1Gi@70s; pids=10,500@60s ;disk=1k@5s,2k@5s,0@10s;volume/data=1.5Gi")
	for _, tc := range []struct {
		key   string
		after time.Duration
		want  int64
	}{
		{Memory, 0, 50 << 20}, {Memory, 10 * time.Second, 50 << 20}, {Memory, 40 * time.Second, (50<<20 + 1<<30) / 2}, {Memory, time.Hour, 1 << 30},
		{PIDs, 0, 10}, {PIDs, 30 * time.Second, 255}, {PIDs, 60 * time.Second, 500},
		{Disk, 0, 1000}, {Disk, 5*time.Second - 1, 1000}, {Disk, 5 * time.Second, 2000}, {Disk, 7500 * time.Millisecond, 1000}, {Disk, 10 * time.Second, 0},
		{"volume/data", 0, 3 * gi / 2}, {Logs, time.Hour, 0},
	} {
		if got := s.At(tc.key, tc.after); got != tc.want {
			t.Errorf("%s after %s: %d, want %d", tc.key, tc.after, got, tc.want)
		}
	}
}

func TestInvalidScripts(t *testing.T) {
	for text, want := range map[string]string{
		"": "must be KEY=AMOUNT@TIME", "memory": "must be memory=AMOUNT@TIME", "memry=1": `unknown key "memry": must be one of memory`,
		"memory=1;memory=2": "memory: must be given once", "memory=": `"": must be an amount`, "memory=-5": "must be an amount", "memory=5Mb": "must be an amount",
		"memory=1@x": "must be a duration", "memory=1@-5s": "must be a duration", "memory=1@9s,2@8s": "must not be before 9s", "memory=NaN": "must be an amount",
		"memory=9e30": "must be an amount", "volume/=1": "unknown key", "images=1": "unknown key",
	} {
		if _, err := ParsePod(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePod(%q): %v, want an error with %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"imagefs=0": "above 0", "split": "require imagefs=", "imagefs-inodes=5": "require imagefs=", "disk=5": "must be nodefs=", "pids=many": "must be an amount", "nodefs": "must be nodefs=",
	} {
		if _, err := ParseCapacity(text, gi, gi, gi); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseCapacity(%q): %v, want an error with %q", text, err, want)
		}
	}
	if _, err := ParseNode("cache=1"); err == nil {
		t.Error("ParseNode with the key cache succeeded, want an error")
	}
}

// newNode returns a node with 8 GiB of memory, 7 GiB of it for pods, and 100 GiB of storage.
func newNode(t *testing.T, capacity, script string) *Node {
	t.Helper()
	c, err := ParseCapacity(capacity, 8*gi, 7*gi, 100*gi)
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Capacity: c, Since: start}
	if script != "" {
		if n.NodeScript, err = ParseNode(script); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestNodeObservation(t *testing.T) {
	spec := &nodepressure.EvictionSpec{Volumes: []nodepressure.Volume{{Name: "v", Local: true}, {Name: "claim"}}}
	podUsage := PodUsageAt(start.Add(time.Minute), []RunningContainer{{Name: "c", Since: start, Script: mustParsePod(t, "memory=1Gi;cache=2Gi;disk=3Gi;logs=4Gi;volume/v=5Gi;volume/claim=50Gi;inodes=100;pids=7")}, {Name: "idle", Since: start}}, spec)
	if s := podUsage.Stats(); s.Memory != 3*gi || s.Ephemeral != 12*gi || s.Processes != 8 || len(s.Containers) != 2 {
		t.Errorf("stats %+v, want 3 GiB of memory, 12 GiB of storage, 8 processes and 2 containers", s)
	}
	for capacity, want := range map[string][3]int64{ // GiB available on nodefs, imagefs, containerfs
		"":                      {100 - 1 - 12 - 20 - 10, 69 - 12, 69 - 12},
		"imagefs=60Gi":          {100 - 1 - 9, 60 - 3 - 20 - 10, 60 - 33},
		"imagefs=60Gi;split":    {100 - 1 - 12 - 10, 60 - 20, 77},
		"nodefs=200Gi;pids=100": {200 - 43, 157, 157},
	} {
		n := newNode(t, capacity, "memory=1Gi;disk=1Gi;images=20Gi;containers=10Gi;pids=50")
		o := n.Observe(start.Add(time.Minute), []PodUsage{podUsage})
		for i, s := range []nodepressure.Signal{nodepressure.NodeFsAvailable, nodepressure.ImageFsAvailable, nodepressure.ContainerFsAvailable} {
			if got := o.Signals[s].Available; got != want[i]*gi {
				t.Errorf("%q: %s is %d GiB, want %d", capacity, s, got/gi, want[i])
			}
		}
		if got := o.Signals[nodepressure.MemoryAvailable].Available; got != 4*gi {
			t.Errorf("%q: %d bytes of memory available, want 4 GiB", capacity, got)
		}
		if got := o.Signals[nodepressure.AllocatableMemoryAvailable].Available; got != 4*gi {
			t.Errorf("%q: %d bytes of allocatable memory available, want 4 GiB", capacity, got)
		}
		if got := o.Signals[nodepressure.PIDAvailable]; got.Capacity-got.Available != 58 {
			t.Errorf("%q: PIDs %+v, want 58 in use", capacity, got)
		}
		if o.PageCache.Active != 2*gi {
			t.Errorf("%q: page cache %+v, want 2 GiB", capacity, o.PageCache)
		}
		n.Reclaim(start.Add(time.Minute), nodepressure.ReclaimNodeResources{Containers: true, Images: true})
		after := n.Observe(start.Add(time.Minute), []PodUsage{podUsage})
		sum := after.Signals[nodepressure.NodeFsAvailable].Available - o.Signals[nodepressure.NodeFsAvailable].Available
		if n.Capacity.ImageFs != nil {
			sum += after.Signals[nodepressure.ImageFsAvailable].Available - o.Signals[nodepressure.ImageFsAvailable].Available
		}
		if sum != 30*gi {
			t.Errorf("%q: reclaiming freed %d GiB, want 30", capacity, sum/gi)
		}
	}
}

func FuzzScript(f *testing.F) {
	f.Add("memory=50Mi@10s,1Gi@70s;pids=10", int64(5))
	f.Fuzz(func(t *testing.T, text string, after int64) {
		s, err := ParsePod(text)
		if err != nil {
			return
		}
		for _, key := range podKeys {
			if v := s.At(key, time.Duration(after)); v < 0 {
				t.Errorf("%q: %s is %d, want 0 or more", text, key, v)
			}
		}
	})
}
