package embedded

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/tree"
)

// layerFresh is how long a measured writable layer counts, as containerd measures: walking one reads each of its inodes.
const layerFresh = 10 * time.Second

// layerSizes are the sizes of writable layers as they were measured last.
type layerSizes struct {
	mu    sync.Mutex
	known map[string]*measured
}

// measured is one of them. Who measures it holds its lock, and none of others: a layer may have a million files.
type measured struct {
	mu   sync.Mutex
	size layerSize
}

type layerSize struct {
	bytes, inodes int64
	at            time.Time
}

// ListContainerStats lists figures of the running containers that filter selects; nil selects all.
func (r *Runtime) ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) (out []*cri.ContainerStats, err error) {
	for _, c := range r.all() {
		if !matches(filter.GetId(), c.record.ID) || !matches(filter.GetPodSandboxId(), c.record.Sandbox) ||
			!selects(filter.GetLabelSelector(), c.record.Config.GetLabels()) || c.state() != cri.ContainerState_CONTAINER_RUNNING {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s := r.stats(c); s != nil {
			out = append(out, s)
		}
	}
	sortBy(out, func(s *cri.ContainerStats) (int64, string) { return 0, s.GetAttributes().GetId() })
	return out, nil
}

// stats are the figures of one container, nil if it has just ended.
func (r *Runtime) stats(c *container) *cri.ContainerStats {
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
	config := c.record.Config
	s := &cri.ContainerStats{
		Attributes: &cri.ContainerAttributes{Id: c.record.ID, Metadata: config.GetMetadata(), Labels: config.GetLabels(), Annotations: config.GetAnnotations()},
		Memory: &cri.MemoryUsage{Timestamp: now, WorkingSetBytes: count(m.WorkingSet()), UsageBytes: count(m.Usage), RssBytes: count(m.Anon),
			PageFaults: count(m.Faults), MajorPageFaults: count(m.MajorFaults)},
	}
	if limit, err := g.Limit(); err == nil && limit < cgroup.Unlimited {
		s.Memory.AvailableBytes = count(max(limit-m.WorkingSet(), 0))
	}
	if used, err := g.CPU(); err == nil {
		s.Cpu = &cri.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: count(used)}
	}
	size := r.layer(c)
	s.WritableLayer = &cri.FilesystemUsage{Timestamp: size.at.UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: r.opts.Dir},
		UsedBytes: count(size.bytes), InodesUsed: count(size.inodes)}
	return s
}

func count(n int64) *cri.UInt64Value { return &cri.UInt64Value{Value: uint64(max(n, 0))} }

// layer is what a container has written onto its image, as it was in the last 10 s.
func (r *Runtime) layer(c *container) layerSize {
	m := r.layers.of(c.record.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.size.at) >= layerFresh {
		m.size = measure(filepath.Join(c.dir, "upper"))
	}
	return m.size
}

func (l *layerSizes) of(id string) *measured {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.known[id]
	if m == nil {
		m = &measured{}
		if l.known == nil {
			l.known = map[string]*measured{}
		}
		l.known[id] = m
	}
	return m
}

func (r *Runtime) forgetLayer(id string) {
	r.layers.mu.Lock()
	defer r.layers.mu.Unlock()
	delete(r.layers.known, id)
}

// measure is what is below a directory now.
func measure(dir string) layerSize {
	held, _ := tree.Measure(dir) // what cannot be read is not counted
	return layerSize{bytes: held.Bytes, inodes: held.Inodes, at: time.Now()}
}

// WritableLayer is what a container has written onto its image, measured now.
func (r *Runtime) WritableLayer(_ context.Context, id string) (runtime.Layer, error) {
	c := r.container(id)
	if c == nil {
		return runtime.Layer{}, notFound("container", id)
	}
	size := measure(filepath.Join(c.dir, "upper"))
	return runtime.Layer{Key: id, Bytes: size.bytes, Inodes: size.inodes}, nil
}
