package nodepressure

import (
	"strconv"
	"time"

	"github.com/berthproject/berth/engine/model"
)

const mi = 1 << 20

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// hardMemory returns a machine with a hard threshold of 100 MiB.
func hardMemory(o Options) *Machine {
	return New(Config{Thresholds: []Threshold{{Signal: MemoryAvailable, Value: Value{Quantity: Bytes(100 * mi)}}}, TransitionPeriod: time.Minute, Options: o})
}

// memoryPod returns a pod that uses memory, in MiB, without requests.
func memoryPod(name string, mib int64) Pod {
	return Pod{Pod: &model.Pod{Namespace: "n", Name: name, UID: name, Spec: &model.PodSpec{}}, EvictionSpec: &EvictionSpec{Containers: []Container{{Name: "c"}}},
		Stats: &PodStats{MemoryKnown: true, Memory: mib * mi, Containers: []ContainerStats{{Name: "c", MemoryKnown: true, Memory: mib * mi}}}}
}

// memoryObservation returns an observation of a node with 2 GiB.
func memoryObservation(ms int, available int64, pods ...Pod) *Observation {
	o := &Observation{Pods: func() []Pod { return pods }}
	o.Signals[MemoryAvailable] = Stat{Known: true, Available: available * mi, Capacity: 2048 * mi, Time: at(ms)}
	return o
}

// withPageCache adds page cache to an observation. active is in MiB, stalled is a total in ms.
func withPageCache(o *Observation, active int64, refaults int64, stalled int) *Observation {
	o.PageCache = PageCache{Known: true, Active: active * mi, Refaults: refaults, StallTime: time.Duration(stalled) * time.Millisecond}
	return o
}

func evicted(effects []Effect) (out []string) {
	for _, e := range effects {
		if e, ok := e.(Evict); ok {
			out = append(out, e.Pod.Name)
		}
	}
	return out
}

// randomSource is a deterministic random number generator.
type randomSource uint64

// n returns a random number below limit.
func (r *randomSource) n(limit int) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r)>>33) % limit
}

func (r *randomSource) pod(i int) Pod {
	p := memoryPod("p"+strconv.Itoa(i), 0)
	p.Spec.Priority = int32(r.n(3) * 10)
	p.Spec.Requests.Memory, p.Spec.Requests.Ephemeral = int64(r.n(3))*50*mi, int64(r.n(3))*50*mi
	switch r.n(8) {
	case 0:
		p.Stats = nil
		return p
	case 1:
		p.Spec.Priority = model.SystemCriticalPriority
	}
	fs := func() FsStats { return FsStats{Known: true, Bytes: int64(r.n(4)) * 40 * mi, Inodes: int64(r.n(4))} }
	p.EvictionSpec.Volumes = []Volume{{Name: "v", Local: r.n(2) == 0}}
	*p.Stats = PodStats{MemoryKnown: true, Memory: int64(r.n(5)) * 30 * mi, Processes: int64(r.n(4)),
		Containers: []ContainerStats{{Name: "c", RootFs: fs(), Logs: fs()}}, Volumes: []VolumeStats{{Name: "v", FsStats: fs()}}}
	return p
}
