package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/klog/v2"
)

const (
	// maxThreshold is the space in bytes below which the store is read-only. On small file systems the
	// threshold is a tenth of their size, but not less than minThreshold. etcd allocates a segment
	// of its log, 64 MB, at once, and must still write the objects of the segment to its database.
	maxThreshold = 256 << 20
	minThreshold = 80 << 20
	// spaceInterval is the minimum time for which an accepted write counts as not yet on disk.
	spaceInterval = time.Second
	// newStoreBytes is what etcd allocates for a new store: two segments of its log and a database.
	newStoreBytes = 160 << 20
	// openBytes is what etcd writes to its database when it opens a store.
	openBytes = 2 << 20
)

// spaceLevel is how full the file system is. It determines which writes the store accepts. Each level also accepts the
// writes of the levels after it.
type spaceLevel int

const (
	spaceOK       spaceLevel = iota // all writes
	spaceLow                        // evictions, updates of status and finalize, and updates that do not enlarge an object
	spaceCritical                   // graceful deletes, and Leases of nodes and components
	spaceFull                       // deletes that take effect at once
)

// usage is the size of a file system and the space that a process may use, in bytes.
type usage struct{ size, available int64 }

// spaceGuard makes the store read-only before its file system is full: etcd ends the process when it
// cannot write. It is safe for concurrent use.
//
// The reserve is a file of a quarter of the threshold. The guard removes it when other programs use
// the remaining space, and writes it again when there is enough.
type spaceGuard struct {
	dir     string
	measure func(dir string) (usage, error)
	now     func() time.Time

	mu   sync.Mutex
	last usage
	err  error // of the last measurement
	// admitted and previous are the bytes of writes that were accepted in the interval since started,
	// and in the interval before it. They may not be on disk yet: etcd buffers writes for 100 ms.
	started            time.Time
	admitted, previous int64
	level              spaceLevel
}

// newSpaceGuard measures the file system of dir, which must exist.
func newSpaceGuard(dir string, measure func(string) (usage, error), now func() time.Time) *spaceGuard {
	g := &spaceGuard{dir: dir, measure: measure, now: now}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh(true)
	return g
}

func (g *spaceGuard) threshold() int64 { return min(maxThreshold, max(minThreshold, g.last.size/10)) }

func (g *spaceGuard) reservePath() string { return filepath.Join(g.dir, "etcd-reserve") }

// available returns the space that remains for writes. The caller must hold the lock.
func (g *spaceGuard) available() int64 { return g.last.available - g.admitted - g.previous }

// refresh measures the file system. After spaceInterval, or if force is set, it starts a new interval.
// The caller must hold the lock.
func (g *spaceGuard) refresh(force bool) {
	var current usage
	if current, g.err = g.measure(g.dir); g.err != nil {
		return // keep the last level
	}
	g.last = current
	now := g.now()
	ended := force || now.Sub(g.started) >= spaceInterval
	if ended {
		g.started, g.previous, g.admitted = now, g.admitted, 0
	}
	g.updateLevel()
	if ended {
		spaceMetrics().observe(g)
	}
}

// updateLevel derives the level. A level ends an eighth above its bound, so that it does not
// alternate. The caller must hold the lock.
func (g *spaceGuard) updateLevel() {
	below := func(level spaceLevel, bytes int64) bool {
		if g.level >= level {
			bytes += bytes / 8
		}
		return g.available() < bytes
	}
	next := spaceOK
	switch {
	case below(spaceFull, g.threshold()/16):
		next = spaceFull
	case below(spaceCritical, g.threshold()/4):
		next = spaceCritical
	case below(spaceLow, g.threshold()):
		next = spaceLow
	}
	if next == g.level {
		return
	}
	previous := g.level
	g.level = next
	if next == spaceOK {
		klog.InfoS("The store accepts all writes again", "directory", g.dir, "availableBytes", g.available(), "thresholdBytes", g.threshold())
	} else if previous < next {
		klog.ErrorS(g.describe(), "The store is read-only")
	}
}

// admit returns an error if the store has no space for a write of size bytes. maxLevel is the highest
// level at which the write is accepted.
func (g *spaceGuard) admit(size int64, maxLevel spaceLevel) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh(false)
	if g.level > maxLevel {
		return g.describe()
	}
	g.admitted += 2*size + 4096 // in the log and in the database
	return nil
}

// check returns an error while the store is read-only.
func (g *spaceGuard) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh(false)
	if g.level == spaceOK {
		return nil
	}
	return g.describe()
}

// describe returns the condition of the file system. The caller must hold the lock.
func (g *spaceGuard) describe() error {
	accepted := "deletes, evictions, Leases of nodes and components, updates of the subresources status and finalize, and updates that do not make an object larger"
	switch g.level {
	case spaceCritical:
		accepted = "deletes and Leases of nodes and components"
	case spaceFull:
		accepted = "deletes that take effect at once"
	}
	return fmt.Errorf("the store is read-only: the file system of %s has %d MiB available, less than the threshold of %d MiB; it accepts %s: free space on the file system",
		g.dir, max(0, g.available())>>20, g.threshold()>>20, accepted)
}

// run keeps the reserve and the metrics current until ctx is done.
func (g *spaceGuard) run(ctx context.Context) {
	tick := time.NewTicker(spaceInterval)
	defer tick.Stop()
	for {
		g.updateReserve()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// updateReserve removes the reserve if the space is critical, and writes it if
// enough space remains.
func (g *spaceGuard) updateReserve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh(false)
	_, err := os.Stat(g.reservePath())
	size := g.threshold() / 4
	switch {
	case err == nil && g.level >= spaceCritical:
		if os.Remove(g.reservePath()) == nil {
			klog.InfoS("Removed the reserve of the store", "path", g.reservePath(), "bytes", size)
			g.refresh(true)
		}
	case os.IsNotExist(err) && g.level == spaceOK && g.available() > 2*g.threshold()+size:
		if err := writeReserve(g.reservePath(), size); err != nil {
			klog.ErrorS(err, "Failed to write the reserve of the store; retrying", "path", g.reservePath())
		}
	}
}

// writeReserve allocates a file of the given size.
func writeReserve(path string, size int64) error {
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = fileutil.Preallocate(f, size, true)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		_ = os.Remove(path + ".tmp")
	}
	return err
}

// prepareStart removes the reserve if etcd needs its space to start, and returns an error if the space
// is still too small.
func (g *spaceGuard) prepareStart(existing bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return fmt.Errorf("reading the space of the file system of %s: %w", g.dir, g.err)
	}
	required := int64(newStoreBytes)
	if existing {
		// etcd allocates the next segment of its log once. If that fails, etcd ends the process later.
		required = wal.SegmentSizeBytes + openBytes
	}
	if g.last.available < required && os.Remove(g.reservePath()) == nil {
		g.refresh(true)
	}
	if g.last.available < required {
		return fmt.Errorf("the file system of %s has %d MiB available, and the store needs %d MiB to start: free space on it, or choose another directory with --data-dir",
			g.dir, g.last.available>>20, required>>20)
	}
	return nil
}
