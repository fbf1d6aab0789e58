package plugins

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// largeCluster returns a cluster of 5,000 nodes and 100,000 pods of 500 owners. A tenth of the pods
// violate a rule on their node.
func largeCluster() *descheduling.Snapshot {
	nodes := make([]*descheduling.Node, 5000)
	for i := range nodes {
		nodes[i] = testNode(fmt.Sprintf("n%04d", i), func(n *descheduling.Node) {
			n.Labels = model.LabelsOf(map[string]string{"host": n.Name, "zone": fmt.Sprint(i % 3), "disk": []string{"hdd", "ssd"}[i%2]})
			if i%50 == 0 {
				n.Taints = []model.Taint{{Key: "old", Effect: model.NoSchedule}}
			}
		})
	}
	specs := make([]*model.PodSpec, 500)
	for i := range specs {
		s := &model.PodSpec{Requests: model.Resources{MilliCPU: 50}}
		app := []model.PodAffinityTerm{{TopologyKey: []string{"host", "zone"}[i%40/20], Namespaces: []string{"default"}, Selector: labelSelector("app", fmt.Sprint(i))}}
		switch i % 20 {
		case 0:
			s.AntiAffinity = app
		case 1:
			s.NodeSelector.Preferred = []model.PreferredSchedulingTerm{{Weight: 1, Term: nodeTerm("ssd")}}
		case 2:
			s.NodeSelector.HasRequired, s.NodeSelector.Required = true, []model.NodeSelectorTerm{nodeTerm("ssd")}
		}
		specs[i] = s
	}
	pods := make([]*descheduling.Pod, 100_000)
	for i := range pods {
		pods[i] = testPod(fmt.Sprintf("p%05d", i), nodes[i%len(nodes)].Name, func(p *descheduling.Pod) {
			p.Spec = specs[i%len(specs)]
			p.Labels = model.LabelsOf(map[string]string{"app": fmt.Sprint(i % len(specs))})
			p.Created = noon.Add(-time.Duration(i%1000) * time.Minute)
		})
	}
	return testSnapshot(nodes, pods...)
}

// BenchmarkDeschedule measures a run of each Deschedule plugin with nodeFit.
func BenchmarkDeschedule(b *testing.B) {
	s := largeCluster()
	maxAge := 15 * time.Hour
	for _, strategy := range []descheduling.Strategy{
		&RemovePodsViolatingInterPodAntiAffinity{}, &RemovePodsViolatingNodeTaints{},
		&RemovePodsViolatingNodeAffinity{Types: []AffinityType{RequiredAffinity, PreferredAffinity}},
		&RemovePodsHavingTooManyRestarts{Threshold: 1}, &PodLifeTime{MaxAge: &maxAge}, &RemoveFailedPods{},
	} {
		b.Run(strategy.Name(), func(b *testing.B) {
			args := defaultArgs()
			args.NodeFit = true
			p := &descheduling.Policy{Profiles: []descheduling.Profile{{Name: "p", Evictor: args, Deschedule: []descheduling.Strategy{strategy}}}}
			moves := 0
			for b.Loop() {
				moves = len(descheduling.RunPolicy(s, p, &fakeMover{}).Moves)
			}
			b.ReportMetric(float64(moves), "evictions/op")
		})
	}
}
