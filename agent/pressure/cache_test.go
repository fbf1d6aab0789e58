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
	for _, name := range []string{"dirty", "hot"} {
		if n := evictions(t, name, pressure.Better(), 1); n > 0 {
			t.Errorf("%s page cache: %d evictions", name, n)
		}
	}
}

// TestHotPageCacheEvictsAsUpstream: with the option off the kubelet's reading counts.
func TestHotPageCacheEvictsAsUpstream(t *testing.T) {
	if n := evictions(t, "hot for ever", pressure.Options{}, 1); n == 0 {
		t.Error("no eviction, where the kubelet's working set is above the threshold")
	}
}

// TestSoakPageCache runs each fifty times, and says what the kubelet's reading would do.
func TestSoakPageCache(t *testing.T) {
	const runs = 50
	if os.Getenv("BERTH_SOAK") == "" {
		t.Skip("for make soak")
	}
	for _, name := range []string{"dirty", "hot"} {
		n := evictions(t, name, pressure.Better(), runs)
		if n > 0 {
			t.Errorf("%s page cache: %d evictions in %d runs", name, n, runs)
		}
		t.Logf("soak: %s page cache: %d evictions in %d runs with confirmation", name, n, runs)
	}
	// Whether a dirty writer is caught without depends on the phase of writeback.
	for _, name := range []string{"dirty", "hot for ever"} {
		n := evictions(t, name, pressure.Options{}, runs)
		t.Logf("soak: %s page cache: %d evictions in %d runs without confirmation", name, n, runs)
	}
}

func evictions(t *testing.T, name string, o pressure.Options, runs int) (evicted int) {
	t.Helper()
	for range runs {
		evicted += innocent(t, name, o)
	}
	return evicted
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
