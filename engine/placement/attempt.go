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
	sites   []site // all nodes, by name

	deduced bool // group is known
	group   *model.Selector

	filters []filter // those that have something to say, in the profile's order
	// failed is set by a rule that cannot judge a node: there is no decision then.
	failed string
}

// site is a node as rules see it: with what stands there now, or would stand there.
type site struct {
	id            cluster.NodeID
	node          *model.Node
	pods          []*model.Pod
	used, scoring *model.Requests
	ports         []model.HostPort
	key           uint64
	// added and removed are pods by which this site differs from the state that
	// rules were compiled on: nominated pods that are counted in, victims that
	// are counted out. Rules with counts over several nodes correct these by them.
	added, removed []*model.Pod
}

// filter is a rule that was compiled for a pod and judges nodes.
type filter struct {
	rule  decision.Rule
	judge func(*site) decision.Verdict
}

func newAttempt(s *cluster.State, p *Profile, pod *model.Pod) *attempt {
	a := &attempt{state: s, profile: p, pod: pod}
	ids := s.NodeIDs()
	a.sites = make([]site, len(ids))
	for i, id := range ids {
		a.sites[i] = siteOf(s.Node(id))
	}
	return a
}

func siteOf(n *cluster.NodeInfo) site {
	return site{id: n.ID, node: n.Model, pods: n.Pods, used: &n.Used, scoring: &n.Scoring, ports: n.Ports, key: n.Key}
}

// with is the site with some pods more and some less.
func (st *site) with(added, removed []*model.Pod) *site {
	c := *st
	c.added, c.removed = append(slices.Clone(st.added), added...), append(slices.Clone(st.removed), removed...)
	c.pods = slices.DeleteFunc(slices.Clone(st.pods), func(p *model.Pod) bool {
		return slices.ContainsFunc(removed, func(r *model.Pod) bool { return r.UID == p.UID })
	})
	c.pods = append(c.pods, added...)
	c.used, c.scoring = &model.Requests{}, &model.Requests{}
	for _, p := range c.pods {
		*c.used = plus(c.used, &p.Spec.Requests)
		*c.scoring = plus(c.scoring, &p.Spec.Scoring)
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

// plus adds two amounts.
func plus(a, b *model.Requests) model.Requests {
	sum := model.Requests{MilliCPU: a.MilliCPU + b.MilliCPU, Memory: a.Memory + b.Memory, Ephemeral: a.Ephemeral + b.Ephemeral}
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

// judge asks the compiled rules in order; the first that rejects decides.
func (a *attempt) judge(st *site) decision.Verdict {
	for _, f := range a.filters {
		if v := f.judge(st); v.Code != decision.Fits {
			v.Rule = f.rule
			return v
		}
	}
	return decision.Verdict{}
}

// judgeNominated judges a node twice when pods of at least the pod's priority
// are nominated to it: with them, as they will come, and without, as they may
// not come and the pod may need them (affinity). Both must pass.
func (a *attempt) judgeNominated(st *site) decision.Verdict {
	var ahead []*model.Pod
	for _, p := range a.state.Nominated(st.id) {
		if cluster.Ahead(p, a.pod) {
			ahead = append(ahead, p)
		}
	}
	if len(ahead) > 0 {
		if v := a.judge(st.with(ahead, nil)); v.Code != decision.Fits {
			return v
		}
	}
	return a.judge(st)
}

// rejects makes a verdict of one reason; the rule is filled in by who asks.
func rejects(code decision.Code, why decision.Reason) decision.Verdict {
	return decision.Verdict{Code: code, Reasons: []decision.Reason{why}}
}
