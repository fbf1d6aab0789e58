package embedded

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/diskusage"
)

// layerSizeTTL is how long a measured layer size is valid, as in containerd. A measurement reads
// every inode.
const layerSizeTTL = 10 * time.Second

// layerSizeCache caches the sizes of writable layers by container ID.
type layerSizeCache struct {
	mu      sync.Mutex
	entries map[string]*cachedLayerSize
}

// cachedLayerSize is an entry. It has its own lock, because a measurement may take long.
type cachedLayerSize struct {
	mu   sync.Mutex
	size layerSize
}

// layerSize is the size of a writable layer.
type layerSize struct {
	bytes, inodes int64
	at            time.Time // of the measurement
}

// ListContainerStats lists statistics of running containers that match filter; nil matches all.
func (r *Runtime) ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) (out []*cri.ContainerStats, err error) {
	for _, c := range r.allContainers() {
		if !matches(filter.GetId(), c.record.ID) || !matches(filter.GetPodSandboxId(), c.record.Sandbox) ||
			!matchesLabels(filter.GetLabelSelector(), c.record.Config.GetLabels()) || c.state() != cri.ContainerState_CONTAINER_RUNNING {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s := r.runningStats(c); s != nil {
			s.WritableLayer = r.layerUsage(r.writableLayerSize(c))
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *cri.ContainerStats) int {
		return cmp.Compare(a.GetAttributes().GetId(), b.GetAttributes().GetId())
	})
	return out, nil
}

// ContainerStats returns the statistics of a container, with a new measurement of its writable
// layer. If the container is not running, they contain only the layer.
func (r *Runtime) ContainerStats(_ context.Context, id string) (*cri.ContainerStats, error) {
	c := r.findContainer(id)
	if c == nil {
		return nil, notFound("container", id)
	}
	var s *cri.ContainerStats
	if c.state() == cri.ContainerState_CONTAINER_RUNNING {
		s = r.runningStats(c)
	}
	if s == nil {
		s = &cri.ContainerStats{Attributes: c.attributes()}
	}
	s.WritableLayer = r.layerUsage(measureLayer(filepath.Join(c.dir, "upper")))
	return s, nil
}

// attributes identifies a container in its statistics.
func (c *container) attributes() *cri.ContainerAttributes {
	config := c.record.Config
	return &cri.ContainerAttributes{Id: c.record.ID, Metadata: config.GetMetadata(), Labels: config.GetLabels(), Annotations: config.GetAnnotations()}
}

// runningStats returns memory and CPU time of a container, or nil if it has just exited.
func (r *Runtime) runningStats(c *container) *cri.ContainerStats {
	g, err := r.host.Open(c.record.Group)
	if err != nil {
		return nil
	}
	defer g.Close()
	var m cgroup.Memory
	if err := g.Memory(&m); err != nil {
		return nil
	}
	now := time.Now().UnixNano()
	s := &cri.ContainerStats{
		Attributes: c.attributes(),
		Memory: &cri.MemoryUsage{Timestamp: now, WorkingSetBytes: uint64Value(m.WorkingSet()), UsageBytes: uint64Value(m.Usage), RssBytes: uint64Value(m.Anon),
			PageFaults: uint64Value(m.Faults), MajorPageFaults: uint64Value(m.MajorFaults)},
	}
	if limit, err := g.Limit(); err == nil && limit < cgroup.Unlimited {
		s.Memory.AvailableBytes = uint64Value(max(limit-m.WorkingSet(), 0))
	}
	if used, err := g.CPU(); err == nil {
		s.Cpu = &cri.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: uint64Value(used)}
	}
	return s
}

// layerUsage converts the size of a writable layer.
func (r *Runtime) layerUsage(size layerSize) *cri.FilesystemUsage {
	return &cri.FilesystemUsage{Timestamp: size.at.UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: r.opts.Dir},
		UsedBytes: uint64Value(size.bytes), InodesUsed: uint64Value(size.inodes)}
}

func uint64Value(n int64) *cri.UInt64Value { return &cri.UInt64Value{Value: uint64(max(n, 0))} }

// writableLayerSize returns the size of a writable layer, at most layerSizeTTL old.
func (r *Runtime) writableLayerSize(c *container) layerSize {
	entry := r.layers.entry(c.record.ID)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if time.Since(entry.size.at) >= layerSizeTTL {
		entry.size = measureLayer(filepath.Join(c.dir, "upper"))
	}
	return entry.size
}

func (l *layerSizeCache) entry(id string) *cachedLayerSize {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[id]
	if e == nil {
		e = &cachedLayerSize{}
		if l.entries == nil {
			l.entries = map[string]*cachedLayerSize{}
		}
		l.entries[id] = e
	}
	return e
}

func (r *Runtime) dropLayerSize(id string) {
	r.layers.mu.Lock()
	defer r.layers.mu.Unlock()
	delete(r.layers.entries, id)
}

func measureLayer(dir string) layerSize {
	usage, _ := diskusage.Measure(dir) // unreadable files are not counted
	return layerSize{bytes: usage.Bytes, inodes: usage.Inodes, at: time.Now()}
}
