package usage

import (
	"time"

	"github.com/berthproject/berth/engine/nodepressure"
)

// RunningContainer is a container that runs.
type RunningContainer struct {
	Name   string
	Script *Script // nil: it uses nothing
	Since  time.Time
}

// PodUsage is the usage of a pod at one time.
type PodUsage struct {
	stats                                                nodepressure.PodStats
	memory, cache, refaults, disk, logs, inodes, volumes int64
}

// Stats returns the usage for package nodepressure.
func (u *PodUsage) Stats() *nodepressure.PodStats { return &u.stats }

// PodUsageAt returns the usage of a pod's containers at now. Only volumes that are local by spec count
// for the node.
func PodUsageAt(now time.Time, containers []RunningContainer, spec *nodepressure.EvictionSpec) (u PodUsage) {
	u.stats.MemoryKnown, u.stats.EphemeralKnown = true, true
	for i := range containers {
		c := &containers[i]
		script := c.Script
		if script == nil {
			script = &Script{}
		}
		age := now.Sub(c.Since)
		memory, cache := script.At(Memory, age), script.At(Cache, age)
		disk, logs, inodes := script.At(Disk, age), script.At(Logs, age), script.At(Inodes, age)
		u.memory, u.cache, u.refaults = u.memory+memory, u.cache+cache, u.refaults+script.At(Refaults, age)
		u.disk, u.logs, u.inodes = u.disk+disk, u.logs+logs, u.inodes+inodes
		u.stats.Processes += script.atOr(PIDs, age, 1)
		u.stats.Containers = append(u.stats.Containers, nodepressure.ContainerStats{Name: c.Name, MemoryKnown: true, Memory: memory + cache,
			RootFs: nodepressure.FsStats{Known: true, Bytes: disk, Inodes: inodes}, Logs: nodepressure.FsStats{Known: true, Bytes: logs}})
		for _, name := range script.volumes() {
			bytes := script.At(volume+name, age)
			u.stats.Volumes = append(u.stats.Volumes, nodepressure.VolumeStats{Name: name, FsStats: nodepressure.FsStats{Known: true, Bytes: bytes}})
			if isLocal(spec, name) {
				u.volumes += bytes
			}
		}
	}
	u.stats.Memory = u.memory + u.cache
	u.stats.Ephemeral = u.disk + u.logs + u.volumes
	return u
}

// isLocal reports whether spec has a local volume with the name.
func isLocal(spec *nodepressure.EvictionSpec, name string) bool {
	if spec != nil {
		for i := range spec.Volumes {
			if spec.Volumes[i].Name == name {
				return spec.Volumes[i].Local
			}
		}
	}
	return false
}
