package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// newEvenCluster returns a cluster of nearly equal nodes and a few preemptors. Small differences decide, and few
// changes occur between plans for equal preemptors.
func newEvenCluster(seed uint64) (c *randomCluster, preemptors []*model.PodSpec) {
	c = &randomCluster{Rand: rand.New(rand.NewPCG(seed, 78)), state: cluster.New(), even: true}
	c.nodes = c.IntN(6) + 2
	for i := range c.nodes {
		c.state.UpsertNode(&model.Node{Name: fmt.Sprintf("n%02d", i), AllocatablePods: 110,
			Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}})
	}
	newSpec := func(priority int32, cpu int64) *model.PodSpec {
		s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: priority, Requests: model.Resources{MilliCPU: cpu, Memory: 1 << 28}}
		s.Scoring = s.Requests
		return s
	}
	c.specs = []*model.PodSpec{newSpec(0, 1000), newSpec(0, 1000), newSpec(5, 1000), newSpec(0, 300)}
	for i := range 4 * c.nodes {
		c.addAssignedTo(i % c.nodes)
	}
	for range c.IntN(4) {
		c.budget()
	}
	return c, []*model.PodSpec{newSpec(100, 1000), newSpec(100, 2000), newSpec(3, 1500)}
}

// evenChange changes a pod's status or a budget, or replaces a pod.
func (c *randomCluster) evenChange() {
	i := c.IntN(len(c.pods))
	p := *c.pods[i]
	switch c.IntN(9) {
	case 0:
		c.state.RemovePod(p.UID)
		replacement := c.pod()
		replacement.NodeName, replacement.Phase, replacement.Ready = p.NodeName, model.Running, c.chance(0.8)
		p = *replacement
	case 1:
		p.Deleting = !p.Deleting
	case 2:
		p.Labels = model.LabelsOf(map[string]string{"app": pick(c, "a", "b", "c")})
	case 3, 4:
		c.budget()
		return
	case 5:
		p.Started = epoch.Add(time.Duration(c.IntN(4)) * time.Second)
	case 6: // an irrelevant change
		p.ResourceVersion += "1"
	default:
		p.Ready = !p.Ready
	}
	c.pods[i] = &p
	c.state.UpsertPod(&p)
}
