package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// newEvenCluster returns a cluster of nearly equal nodes and a few preemptors, so that small differences
// decide and the same preemptors recur while little changes.
func newEvenCluster(seed uint64) (w *randomCluster, preemptors []*model.PodSpec) {
	w = &randomCluster{Rand: rand.New(rand.NewPCG(seed, 78)), state: cluster.New(), even: true}
	w.nodes = w.IntN(6) + 2
	for i := range w.nodes {
		w.state.UpsertNode(&model.Node{Name: fmt.Sprintf("n%02d", i), AllocatablePods: 110,
			Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}})
	}
	low := func(priority int32, cpu int64) *model.PodSpec {
		s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: priority, Requests: model.Resources{MilliCPU: cpu, Memory: 1 << 28}}
		s.Scoring = s.Requests
		return s
	}
	w.specs = []*model.PodSpec{low(0, 1000), low(0, 1000), low(5, 1000), low(0, 300)}
	for i := range 4 * w.nodes {
		w.runOn(i % w.nodes)
	}
	for range w.IntN(4) {
		w.budget()
	}
	return w, []*model.PodSpec{low(100, 1000), low(100, 2000), low(3, 1500)}
}

// evenChange changes a pod's status or a budget, or replaces a pod.
func (w *randomCluster) evenChange() {
	i := w.IntN(len(w.pods))
	p := *w.pods[i]
	switch w.IntN(9) {
	case 0:
		w.state.RemovePod(p.UID)
		replacement := w.pod()
		replacement.NodeName, replacement.Phase, replacement.Ready = p.NodeName, model.Running, w.chance(0.8)
		p = *replacement
	case 1:
		p.Deleting = !p.Deleting
	case 2:
		p.Labels = model.LabelsOf(map[string]string{"app": one(w, "a", "b", "c")})
	case 3, 4:
		w.budget()
		return
	case 5:
		p.Started = epoch.Add(time.Duration(w.IntN(4)) * time.Second)
	case 6: // an irrelevant change
		p.ResourceVersion += "1"
	default:
		p.Ready = !p.Ready
	}
	w.pods[i] = &p
	w.state.UpsertPod(&p)
}
