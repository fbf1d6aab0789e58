package cadvisor

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/engine/nodepressure"
)

// filesystem is the usage of a file system.
type filesystem struct {
	device string // "" if unknown
	stats.DiskUsage
}

// filesystems are those of the node, of images and of writable layers, which may be the same.
type filesystems struct{ node, image, container filesystem }

func (c Collector) readFilesystems() filesystems {
	return filesystems{c.readFilesystem(c.NodeFs), c.readFilesystem(c.ImageFs), c.readFilesystem(c.ContainerFs)}
}

// readFilesystem returns the usage of a file system and its device: the source of the mount that contains its
// directory.
func (c Collector) readFilesystem(d *stats.Disk) (fs filesystem) {
	if d == nil {
		return fs
	}
	usage, err := d.Usage(time.Now())
	if err != nil {
		return fs
	}
	f, err := os.Open(filepath.Join(c.Proc, "self/mountinfo"))
	if err != nil {
		return fs
	}
	defer f.Close()
	mounts, err := mountinfo.GetMountsFromReader(f, mountinfo.ParentsFilter(d.Dir()))
	if err != nil || len(mounts) == 0 {
		return fs
	}
	// Of two mounts at the same point, the later one is visible.
	slices.SortStableFunc(mounts, func(a, b *mountinfo.Info) int { return cmp.Compare(len(a.Mountpoint), len(b.Mountpoint)) })
	return filesystem{mounts[len(mounts)-1].Source, usage}
}

// send sends the usage of an owner and the capacity of the file system.
func (f filesystem) send(ch chan<- prometheus.Metric, o owner, used int64) {
	o.send(ch, "container_fs_usage_bytes", prometheus.GaugeValue, float64(used), "device", f.device)
	o.send(ch, "container_fs_limit_bytes", prometheus.GaugeValue, float64(f.Capacity), "device", f.device)
}

// sendNode sends the series of each device.
func (s filesystems) sendNode(ch chan<- prometheus.Metric) {
	sent := map[string]bool{"": true}
	for _, f := range []filesystem{s.node, s.image, s.container} {
		if !sent[f.device] {
			sent[f.device] = true
			f.send(ch, owner{id: "/"}, f.Used)
		}
	}
}

// sendContainer sends the last measured usage of a container: of its writable layer and, on the node's file
// system, of its logs.
func (s filesystems) sendContainer(ch chan<- prometheus.Metric, o owner, usage *nodepressure.PodStats) {
	if usage == nil {
		return
	}
	i := slices.IndexFunc(usage.Containers, func(c nodepressure.ContainerStats) bool { return c.Name == o.container })
	if i < 0 {
		return
	}
	layer, logs := usage.Containers[i].RootFs, usage.Containers[i].Logs
	if s.node.device == s.container.device {
		layer.Known, layer.Bytes, logs.Known = layer.Known || logs.Known, layer.Bytes+logs.Bytes, false
	}
	if layer.Known && s.container.device != "" {
		s.container.send(ch, o, layer.Bytes)
	}
	if logs.Known && s.node.device != "" {
		s.node.send(ch, o, logs.Bytes)
	}
}
