package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

const (
	hostKey = "kubernetes.io/hostname"
	zoneKey = "topology.kubernetes.io/zone"
)

// mixedCluster returns a cluster of n nodes of several sizes in three zones. Some nodes are tainted, and some
// have no zone.
func mixedCluster(n int) *cluster.State {
	r := rand.New(rand.NewPCG(1, 2))
	s := cluster.New()
	for i := range n {
		node := &model.Node{Name: fmt.Sprintf("node-%05d", i), AllocatablePods: 110,
			Allocatable: model.Resources{MilliCPU: int64(8+8*r.IntN(4)) * 1000, Memory: int64(32+r.IntN(96)) << 30, Ephemeral: 100 << 30}}
		labels := map[string]string{hostKey: node.Name, "disk": "hdd", "kubernetes.io/os": "linux", "pool": fmt.Sprint(r.IntN(5))}
		if i%2 == 0 {
			labels["disk"] = "ssd"
		}
		if r.IntN(50) > 0 {
			labels[zoneKey] = string(rune('a' + r.IntN(3)))
		}
		node.Labels = model.LabelsOf(labels)
		switch r.IntN(20) {
		case 0:
			node.Taints = []model.Taint{{Key: "dedicated", Value: "x", Effect: model.NoSchedule}}
		case 1:
			node.Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}}
		}
		s.UpsertNode(node)
	}
	return s
}

// heartbeat updates a node with a new resource version only. i selects the node.
func heartbeat(s *cluster.State, i int) {
	ids := s.NodeIDs()
	n := *s.Node(ids[i%len(ids)]).Model
	n.ResourceVersion = fmt.Sprint(i)
	s.UpsertNode(&n)
}

// relabel changes a label of a node that no pod selects. i selects the node and is the value.
func relabel(s *cluster.State, i int) {
	ids := s.NodeIDs()
	n := *s.Node(ids[i%len(ids)]).Model
	m := map[string]string{"note": fmt.Sprint(i)}
	for _, l := range n.Labels {
		if l.Key != "note" {
			m[l.Key] = l.Value
		}
	}
	n.Labels = model.LabelsOf(m)
	s.UpsertNode(&n)
}

// podKind is a kind of app. spec returns the specification of the pods of the app with index i.
type podKind struct {
	name string
	spec func(app string, i int) *model.PodSpec
}

func basicSpec(i int) *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", ImageContainers: 1, Images: []string{"registry/app:1"}}
	s.Requests = model.Resources{MilliCPU: int64(50 + 10*(i%20)), Memory: int64(64+16*(i%10)) << 20}
	s.Scoring = s.Requests
	return s
}

func appSelector(app string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{app}}}}
}

func podTerm(app, key string) model.PodAffinityTerm {
	return model.PodAffinityTerm{TopologyKey: key, Selector: appSelector(app), Namespaces: []string{"default"}}
}

var (
	plainKind    = podKind{"plain requests", func(_ string, i int) *model.PodSpec { return basicSpec(i) }}
	affinityKind = podKind{"required node affinity", func(_ string, i int) *model.PodSpec {
		s := basicSpec(i)
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: "disk", Op: model.In, Values: []string{"ssd"}}}}}
		return s
	}}
	antiHostKind = podKind{"preferred anti-affinity, host", func(app string, i int) *model.PodSpec {
		s := basicSpec(i)
		s.PreferredAntiAffinity = []model.WeightedPodAffinityTerm{{Weight: 100, Term: podTerm(app, hostKey)}}
		return s
	}}
	zoneKind = podKind{"required affinity, zone", func(app string, i int) *model.PodSpec {
		s := basicSpec(i)
		s.Affinity = []model.PodAffinityTerm{podTerm(app, zoneKey)}
		return s
	}}
	hardKind = podKind{"hard spread, zone", func(app string, i int) *model.PodSpec {
		s := basicSpec(i)
		s.Spread = []model.SpreadConstraint{{TopologyKey: zoneKey, MaxSkew: 1, MinDomains: 1, Hard: true, Selector: appSelector(app)}}
		return s
	}}
	// defaultKind is spread by the default constraints, because its apps have a Service.
	defaultKind = podKind{"default spread", func(_ string, i int) *model.PodSpec { return basicSpec(i) }}
	hugeKind    = podKind{"unschedulable", func(_ string, i int) *model.PodSpec {
		s := basicSpec(i)
		s.Requests.MilliCPU = 10_000_000
		return s
	}}
)

// withPodSizePerApp returns the kinds with a different pod size for each app.
func withPodSizePerApp(kinds []podKind) []podKind {
	var out []podKind
	for _, k := range kinds {
		out = append(out, podKind{k.name + ", own size", func(app string, i int) *model.PodSpec {
			s := k.spec(app, i)
			s.Requests.MilliCPU, s.Requests.Memory = s.Requests.MilliCPU+int64(i), s.Requests.Memory+int64(i)<<10
			s.Scoring = s.Requests
			return s
		}})
	}
	return out
}

// app is a set of pods with one specification and the same labels.
type app struct {
	name string
	spec *model.PodSpec
}

// apps returns n apps with alternating kinds. It adds a Service for each app of defaultKind to s.
func apps(s *cluster.State, n int, kinds ...podKind) []app {
	var out []app
	for i := range n {
		k := kinds[i%len(kinds)]
		name := fmt.Sprintf("%s-%d", k.name[:4], i)
		if strings.HasPrefix(k.name, defaultKind.name) {
			s.UpsertSpreadGroup(model.SpreadGroup{Kind: "Service", Namespace: "default", Name: name, Selector: appSelector(name)})
		}
		out = append(out, app{name, k.spec(name, i)})
	}
	return out
}

// pod returns a pending pod of the app.
func (a app) pod(serial int) *model.Pod {
	return &model.Pod{Namespace: "default", Name: fmt.Sprintf("%s-%d", a.name, serial), UID: fmt.Sprintf("b1946ac9-2492-4d23-8f9c-%012d", serial),
		Labels: model.Labels{{Key: "app", Value: a.name}, {Key: "index", Value: fmt.Sprint(serial)}}, Spec: a.spec}
}
