package pressure_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/testkit/plain"
)

// The two ways in which page cache looks like shortage (node.md 3.4): pods that
// do no harm, and that upstream's reading would evict.
var innocents = map[string]func(file string) []string{
	// A writer of dirty pages: reclaim takes them for active ones.
	"dirty": func(file string) []string {
		return []string{"-write=1Gi", "-write-to=" + file, "-after=1h"}
	},
	// A reader that makes its file hot.
	"hot": func(file string) []string {
		return []string{"-write=380Mi", "-write-to=" + file, "-read=" + file, "-reads=4"}
	},
	"hot for ever": func(file string) []string {
		return []string{"-write=380Mi", "-write-to=" + file, "-read=" + file, "-reads=0"}
	},
}

func TestPageCacheEvictsNobody(t *testing.T) {
	runs := soakRuns()
	for _, name := range []string{"dirty", "hot"} {
		t.Run(name, func(t *testing.T) {
			evicted := 0
			for range runs {
				evicted += innocent(t, name, pressure.Better())
			}
			if evicted > 0 {
				t.Errorf("%d evictions in %d runs", evicted, runs)
			}
			t.Logf("soak: %s page cache: %d evictions in %d runs with confirmation", name, evicted, runs)
		})
	}
}

// soakRuns is 50 in make soak, else 1.
func soakRuns() int {
	if os.Getenv("BERTH_SOAK") != "" {
		return 50
	}
	return 1
}

// TestHotPageCacheEvictsAsUpstream: with the option off the kubelet's reading counts.
func TestHotPageCacheEvictsAsUpstream(t *testing.T) {
	runs := soakRuns()
	evicted := 0
	for range runs {
		evicted += innocent(t, "hot for ever", pressure.Options{})
	}
	if evicted < runs {
		t.Errorf("%d evictions in %d runs, where the kubelet's working set is above the threshold", evicted, runs)
	}
	t.Logf("soak: hot page cache: %d evictions in %d runs without confirmation", evicted, runs)
	if runs == 1 {
		return
	}
	// Whether a dirty writer is caught depends on the phase of writeback.
	evicted = 0
	for range runs {
		evicted += innocent(t, "dirty", pressure.Options{})
	}
	t.Logf("soak: dirty page cache: %d evictions in %d runs without confirmation", evicted, runs)
}

// innocent runs one on a node of 512 MiB and counts evictions.
func innocent(t *testing.T, name string, o pressure.Options) int {
	t.Helper()
	n := plain.ForTest(t, 512*mi, 1000)
	c := hard(150 * mi)
	c.Options = o
	_, stop := watching(t, n, c, nil)
	defer stop()
	dir, err := os.MkdirTemp(disk(), "berth-cache-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p := start(t, n, plain.Spec{Name: "innocent", Memory: "32Mi", Args: innocents[name](filepath.Join(dir, "data"))})
	said := make(chan error, 1)
	go func() { said <- p.Said("write done") }()
	select {
	case err = <-said:
	case <-p.Gone():
	case <-time.After(time.Minute):
		t.Fatal("not done within a minute")
	}
	if len(n.Evicted()) == 0 && err != nil {
		t.Error(err)
	}
	if err := p.Forget(); err != nil {
		t.Error(err)
	}
	return len(n.Evicted())
}

// disk is a directory on a disk: /tmp is in memory on some machines.
func disk() string {
	if d := os.Getenv("BERTH_TEST_DISK"); d != "" {
		return d
	}
	return "/var/tmp"
}
