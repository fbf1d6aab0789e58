package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// attempt is one pod's way through the rules on one state of the cluster. What
// it compiled is void once the state changes.
type attempt struct {
	state   *cluster.State
	profile *Profile
	pod     *model.Pod
	nodes   []candidateNode // all nodes, by name

	selectorKnown bool // group is known
	selector      *model.Selector

	filters []filterPlugin // those that have something to say, in the profile's order
	// err is set by a rule that cannot judge a node: there is no decision then.
	err string
}

// candidateNode is a node as rules see it: with what stands there now, or would stand there.
type candidateNode struct {
	id            cluster.NodeID
	node          *model.Node
	pods          []*model.Pod
	used, scoring *model.Resources
	ports         []model.HostPort
	key           uint64
	// added and removed are pods by which this site differs from the state that
	// rules were compiled on: nominated pods that are counted in, victims that
	// are counted out. Rules with counts over several nodes correct these by them.
	added, removed []*model.Pod
}

// filterPlugin is a rule that was compiled for a pod and judges nodes.
type filterPlugin struct {
	plugin decision.Plugin
	filter func(*candidateNode) decision.Verdict
}

func newAttempt(s *cluster.State, p *Profile, pod *model.Pod) *attempt {
	a := &attempt{state: s, profile: p, pod: pod}
	ids := s.NodeIDs()
	a.nodes = make([]candidateNode, len(ids))
	for i, id := range ids {
		a.nodes[i] = newCandidateNode(s.Node(id))
	}
	return a
}

func newCandidateNode(n *cluster.NodeInfo) candidateNode {
	return candidateNode{id: n.ID, node: n.Model, pods: n.Pods, used: &n.Used, scoring: &n.Scoring, ports: n.Ports, key: n.NameHash}
}

// with is the site with some pods more and some less.
func (st *candidateNode) with(added, removed []*model.Pod) *candidateNode {
	c := *st
	c.added, c.removed = append(slices.Clone(st.added), added...), append(slices.Clone(st.removed), removed...)
	c.pods = slices.DeleteFunc(slices.Clone(st.pods), func(p *model.Pod) bool {
		return slices.ContainsFunc(removed, func(r *model.Pod) bool { return r.UID == p.UID })
	})
	c.pods = append(c.pods, added...)
	c.used, c.scoring = &model.Resources{}, &model.Resources{}
	for _, p := range c.pods {
		*c.used = addResources(c.used, &p.Spec.Requests)
		*c.scoring = addResources(c.scoring, &p.Spec.Scoring)
	}
	c.ports = slices.Clone(st.ports)
	for _, p := range removed {
		for _, port := range p.Spec.Ports {
			if i := slices.Index(c.ports, port); i >= 0 {
				c.ports = slices.Delete(c.ports, i, i+1)
			}
		}
	}
	for _, p := range added {
		c.ports = append(c.ports, p.Spec.Ports...)
	}
	return &c
}

// addResources adds two amounts.
func addResources(a, b *model.Resources) model.Resources {
	sum := model.Resources{MilliCPU: a.MilliCPU + b.MilliCPU, Memory: a.Memory + b.Memory, Ephemeral: a.Ephemeral + b.Ephemeral}
	sum.Scalars = slices.Clone(a.Scalars)
next:
	for _, sc := range b.Scalars {
		for i := range sum.Scalars {
			if sum.Scalars[i].Name == sc.Name {
				sum.Scalars[i].Amount += sc.Amount
				continue next
			}
		}
		sum.Scalars = append(sum.Scalars, sc)
	}
	return sum
}

// runFilters asks the compiled rules in order; the first that rejects decides.
func (a *attempt) runFilters(st *candidateNode) decision.Verdict {
	for _, f := range a.filters {
		if v := f.filter(st); v.Code != decision.Success {
			v.Plugin = f.plugin
			return v
		}
	}
	return decision.Verdict{}
}

// runFiltersWithNominatedPods judges a node twice when pods of at least the pod's priority
// are nominated to it: with them, as they will come, and without, as they may
// not come and the pod may need them (affinity). Both must pass.
func (a *attempt) runFiltersWithNominatedPods(st *candidateNode) decision.Verdict {
	var ahead []*model.Pod
	for _, p := range a.state.Nominated(st.id) {
		if cluster.NominationCounts(p, a.pod) {
			ahead = append(ahead, p)
		}
	}
	if len(ahead) > 0 {
		if v := a.runFilters(st.with(ahead, nil)); v.Code != decision.Success {
			return v
		}
	}
	return a.runFilters(st)
}

// rejection makes a verdict of one reason; the rule is filled in by who asks.
func rejection(code decision.Code, why decision.Reason) decision.Verdict {
	return decision.Verdict{Code: code, Reasons: []decision.Reason{why}}
}
