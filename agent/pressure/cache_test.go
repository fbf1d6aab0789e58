//go:build linux

package pressure_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

// cacheWorkloads are the arguments of pods whose page cache looks like a memory shortage. The pods
// are harmless, but the kubelet would evict them.
var cacheWorkloads = map[string]func(file string) []string{
	// A writer of dirty pages, which reclaim counts as active.
	"dirty": func(file string) []string {
		return []string{"-write=1Gi", "-write-to=" + file, "-after=1h"}
	},
	// A reader that makes the pages of its file active.
	"hot": func(file string) []string {
		return []string{"-write=380Mi", "-write-to=" + file, "-read=" + file, "-reads=4"}
	},
	"permanently hot": func(file string) []string {
		return []string{"-write=380Mi", "-write-to=" + file, "-read=" + file, "-reads=0"}
	},
}

func TestPageCacheDoesNotEvict(t *testing.T) {
	for _, name := range []string{"dirty", "hot"} {
		if n := evictions(t, name, nodepressure.AllOptions(), 1); n > 0 {
			t.Errorf("%s page cache: %d evictions, want 0", name, n)
		}
	}
}

// TestActivePageCacheEvicts checks the kubelet's calculation, which applies without the option.
func TestActivePageCacheEvicts(t *testing.T) {
	if n := evictions(t, "permanently hot", nodepressure.Options{}, 1); n == 0 {
		t.Error("0 evictions, want 1: the kubelet's working set is above the threshold")
	}
}

// TestSoakPageCache runs each workload fifty times and logs how often the kubelet would evict it.
func TestSoakPageCache(t *testing.T) {
	const runs = 50
	if os.Getenv("BERTH_SOAK") == "" {
		t.Skip("runs only in make soak")
	}
	for _, name := range []string{"dirty", "hot"} {
		n := evictions(t, name, nodepressure.AllOptions(), runs)
		if n > 0 {
			t.Errorf("%s page cache: %d evictions in %d runs, want 0", name, n, runs)
		}
		t.Logf("soak: %s page cache: %d evictions in %d runs with confirmation", name, n, runs)
	}
	// Whether the dirty writer is evicted without the option depends on the phase of writeback.
	for _, name := range []string{"dirty", "permanently hot"} {
		n := evictions(t, name, nodepressure.Options{}, runs)
		t.Logf("soak: %s page cache: %d evictions in %d runs without confirmation", name, n, runs)
	}
}

// evictions returns the number of evictions in the given number of runs.
func evictions(t *testing.T, name string, o nodepressure.Options, runs int) (evicted int) {
	t.Helper()
	for range runs {
		evicted += runPageCachePod(t, name, o)
	}
	return evicted
}

// runPageCachePod runs one workload on a node of 512 MiB and returns the number of evictions.
func runPageCachePod(t *testing.T, name string, o nodepressure.Options) int {
	t.Helper()
	n := fixtures.NewForTest(t, 512*mi, 1000)
	c := hardThreshold(150 * mi)
	c.Options = o
	_, stop := newManager(t, n, c, nil)
	defer stop()
	dir, err := os.MkdirTemp(disk(), "berth-cache-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p := start(t, n, fixtures.Spec{Name: "cache", Memory: "32Mi", Args: cacheWorkloads[name](filepath.Join(dir, "data"))})
	result := make(chan error, 1)
	go func() { result <- p.WaitForLine("write done") }()
	select {
	case err = <-result:
	case <-p.Exited():
	case <-time.After(time.Minute):
		t.Fatal("timed out after 1 min: the pod has not written its file")
	}
	if len(n.Evicted()) == 0 && err != nil {
		t.Error(err)
	}
	if err := p.Remove(); err != nil {
		t.Error(err)
	}
	return len(n.Evicted())
}

// disk returns a directory on a disk; /tmp is a tmpfs on some machines.
func disk() string {
	if d := os.Getenv("BERTH_TEST_DISK"); d != "" {
		return d
	}
	return "/var/tmp"
}
