package thrashing

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

// thrashingCase is a cluster and a policy for which the descheduler thrashes.
type thrashingCase struct {
	Name        string // issue of kubernetes-sigs/descheduler, or subject
	Description string
	File        string           // cluster file in testdata, without .txt
	Policy      string           // policy file in testdata
	Goal        map[string]int64 // by node: the maximum of the requested milli-CPU
	GoalText    string
}

// thrashingCases returns all cases.
func thrashingCases() []thrashingCase {
	return []thrashingCase{
		{"#994", "preferred anti-affinity makes the scheduler return the first candidates; others could move", "994", "low.yaml", map[string]int64{"n1": 5000}, "n1 at 50 %"},
		{"#335", "required anti-affinity keeps the first candidate on its node; others could move", "335", "low.yaml", map[string]int64{"n1": 5000}, "n1 at 50 %"},
		{"#1695", "a pod that is above the target on any node", "1695", "low70.yaml", map[string]int64{"n1": 700, "n2": 700}, "both at 70 %: impossible"},
		{"#1584", "nodeFit counts the same free capacity for three pods", "1584", "taints.yaml", map[string]int64{"n1": 4000}, "one pod fewer on the tainted n1"},
		{"affinity", "preferred node affinity against LowNodeUtilization", "preferred", "preferred.yaml", map[string]int64{"n1": 5000}, "n1 at 50 %"},
	}
}

// goalReached reports whether no node of the goal has more milli-CPU requested than it allows.
func (c *thrashingCase) goalReached(w *cluster.Cluster) bool {
	requested := map[string]int64{}
	for _, o := range w.API().List(store.Pods) {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" {
			continue
		}
		for i := range p.Spec.Containers {
			requested[p.Spec.NodeName] += p.Spec.Containers[i].Resources.Requests.Cpu().MilliValue()
		}
	}
	for node, limit := range c.Goal {
		if requested[node] > limit {
			return false
		}
	}
	return true
}
