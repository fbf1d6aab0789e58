package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Evaluate decides about a pod on a state, and says all about it: every node's
// verdict or scores, who is best, and who of these is taken under the seed. The
// state is not changed. A node that the pod is counted on already counts it;
// explaining a bound pod takes a fork without it.
func Evaluate(s *cluster.State, p *Profile, seed uint64, pod *model.Pod) *decision.Record {
	rec := &decision.Record{Pod: pod.Key(), UID: pod.UID, Revision: s.Revision(), Profile: p.Name()}
	if pod.Spec.SchedulerName != p.Name() || pod.Finished() {
		rec.Outcome = decision.Ignored
		return rec
	}
	if rec.PreEnqueue = p.Gate(s, pod); rec.PreEnqueue != nil {
		rec.Outcome = decision.Gated
		rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(rec.PreEnqueue.Plugin)
		return rec
	}
	if pod.Deleting {
		rec.Outcome = decision.Skipped
		return rec
	}
	rec.Outcome = decision.Infeasible
	a := newAttempt(s, p, pod)
	if len(a.nodes) == 0 || !a.runPreFilters(rec) {
		return rec
	}
	feasible := a.findNodesThatFit(rec)
	if len(feasible) == 0 {
		return rec
	}
	rec.Outcome = decision.Scheduled
	if err := a.prioritizeNodes(rec, feasible); err != nil && len(feasible) > 1 {
		rec.Outcome, rec.Error, rec.Nodes = decision.Errored, err.Error(), nil
		return rec
	}
	a.selectNode(rec, feasible, seed)
	return rec
}

// runPreFilters asks every rule what it makes of the pod, and says whether there is
// anything left to judge: no rule failed or refused.
func (a *attempt) runPreFilters(rec *decision.Record) bool {
	cfg := &a.profile.cfg
	ready := make([]*preFilterState, decision.NumPlugins)
	var preFilterPlugins []string
	for _, r := range cfg.PreFilter {
		c := a.preFilter(r)
		ready[r] = &c
		if c.err != nil {
			a.recordError(rec, r, c.err)
			return false
		}
		if v := c.verdict; v != nil {
			a.recordRejection(rec, r, v)
			if v.Code == decision.UnschedulableAndUnresolvable {
				return false
			}
			continue
		}
		if !c.hasNames {
			continue
		}
		preFilterPlugins = append(preFilterPlugins, r.String())
		rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(r)
		if !intersectNodes(rec, c.names) {
			a.recordRejection(rec, decision.NoPlugin, noCommonNodes(preFilterPlugins))
			return false
		}
	}
	if rec.PreFilter != nil {
		return false
	}
	if c := a.holdAvoid(); c.filter != nil {
		a.filters = append(a.filters, filterPlugin{decision.HoldAvoid, c.filter})
	}
	for _, r := range cfg.Filter {
		if ready[r] == nil {
			c := a.preFilter(r)
			if c.err != nil {
				a.recordError(rec, r, c.err)
				return false
			}
			if c.verdict != nil {
				a.recordRejection(rec, r, c.verdict)
				return false
			}
			ready[r] = &c
		}
		if ready[r].filter != nil {
			a.filters = append(a.filters, filterPlugin{r, ready[r].filter})
		}
	}
	return true
}

// recordError records that a rule cannot make anything of the pod.
func (a *attempt) recordError(rec *decision.Record, r decision.Plugin, err error) {
	rec.Outcome, rec.Error = decision.Errored, fmt.Sprintf("running PreFilter plugin %q: %v", r, err)
}

// recordRejection records that a rule refuses all nodes; the first one to do so stands.
func (a *attempt) recordRejection(rec *decision.Record, r decision.Plugin, v *decision.Verdict) {
	rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(r)
	if rec.PreFilter == nil || v.Code == decision.UnschedulableAndUnresolvable {
		own := *v
		own.Plugin = r
		rec.PreFilter = &own
	}
}

// intersectNodes limits the record's search to names, and says whether any are left.
func intersectNodes(rec *decision.Record, names []string) bool {
	if rec.HasPreFilterNodes {
		rec.PreFilterNodes = slices.DeleteFunc(slices.Clone(rec.PreFilterNodes), func(n string) bool { return !slices.Contains(names, n) })
	} else {
		rec.HasPreFilterNodes, rec.PreFilterNodes = true, names
	}
	return len(rec.PreFilterNodes) > 0
}

// noCommonNodes is the refusal when rules narrow the search to nothing.
func noCommonNodes(plugins []string) *decision.Verdict {
	slices.Sort(plugins)
	text := "node(s) didn't satisfy plugin " + plugins[0]
	if len(plugins) > 1 {
		text = "node(s) didn't satisfy plugin(s) [" + strings.Join(plugins, " ") + "] simultaneously"
	}
	v := rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: text})
	return &v
}

// findNodesThatFit judges the nodes and returns those that fit, in the order of names: the
// pod's nominated node alone if it fits, else the first of those held for it that does, else all that
// narrowing left.
func (a *attempt) findNodesThatFit(rec *decision.Record) []*candidateNode {
	var own decision.Verdict // of the nominated node; it stands even outside of what was narrowed to
	if st := a.nodeByName(a.pod.NominatedNodeName); st != nil {
		if own = a.runFiltersWithNominatedPods(st); own.Code == decision.Success {
			rec.NominatedFirst = true
			rec.Nodes = []decision.NodeRecord{{Name: st.node.Name}}
			return []*candidateNode{st}
		}
		a.err = "" // what fails here decides only if it fails among all nodes
		if rec.HasPreFilterNodes && own.Plugin != decision.NodeAffinity {
			plugins := []string{decision.NodeAffinity.String(), own.Plugin.String()}
			slices.Sort(plugins)
			rec.PreFilterPlugins = strings.Join(plugins, " ")
		}
	}
	for _, id := range a.state.AppendReserved(nil, a.pod) {
		st := a.nodeByName(a.state.Node(id).Model.Name)
		if v := a.runFiltersWithNominatedPods(st); v.Code == decision.Success {
			rec.ReservedFirst = true
			rec.Nodes = []decision.NodeRecord{{Name: st.node.Name}}
			return []*candidateNode{st}
		}
		a.err = ""
	}
	var feasible []*candidateNode
	rec.Nodes = make([]decision.NodeRecord, 0, len(a.nodes))
	for i := range a.nodes {
		st := &a.nodes[i]
		node := decision.NodeRecord{Name: st.node.Name}
		if rec.HasPreFilterNodes && !slices.Contains(rec.PreFilterNodes, st.node.Name) {
			node.Verdict = decision.Verdict{Plugin: decision.PreFilterResult, Code: decision.UnschedulableAndUnresolvable}
			if own.Code != decision.Success && st.node.Name == a.pod.NominatedNodeName {
				node.Verdict = own
				rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(own.Plugin)
			}
		} else if node.Verdict = a.runFiltersWithNominatedPods(st); node.Verdict.Code == decision.Success {
			feasible = append(feasible, st)
		} else {
			rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(node.Verdict.Plugin)
		}
		if a.err != "" {
			rec.Outcome, rec.Error, rec.Nodes, rec.UnschedulablePlugins = decision.Errored, a.err, nil, 0
			return nil
		}
		rec.Nodes = append(rec.Nodes, node)
	}
	return feasible
}

func (a *attempt) nodeByName(name string) *candidateNode {
	if name == "" {
		return nil
	}
	i, ok := slices.BinarySearchFunc(a.nodes, name, func(st candidateNode, n string) int { return strings.Compare(st.node.Name, n) })
	if !ok {
		return nil
	}
	return &a.nodes[i]
}

// prioritizeNodes fills in the scores and totals of the feasible nodes.
func (a *attempt) prioritizeNodes(rec *decision.Record, feasible []*candidateNode) error {
	cfg := &a.profile.cfg
	ready := make([]*preScoreState, decision.NumPlugins)
	for _, r := range cfg.PreScore {
		s := a.preScore(r, feasible)
		if s.err != nil {
			return fmt.Errorf("running PreScore plugin %q: %w", r, s.err)
		}
		ready[r] = &s
	}
	records := make([]*decision.NodeRecord, 0, len(feasible))
	for i := range rec.Nodes {
		if rec.Nodes[i].Verdict.Code == decision.Success {
			records = append(records, &rec.Nodes[i])
		}
	}
	points := make([]int64, len(feasible))
	for _, w := range cfg.Score {
		s := ready[w.Plugin]
		if s == nil {
			c := a.preScore(w.Plugin, feasible)
			s = &c
		}
		if s.err != nil {
			return fmt.Errorf("running Score plugin %q: %w", w.Plugin, s.err)
		}
		if s.score == nil {
			continue
		}
		for i, st := range feasible {
			points[i] = s.score(st)
		}
		if s.normalizeScore != nil {
			s.normalizeScore(feasible, points)
		}
		for i, r := range records {
			r.Scores = append(r.Scores, decision.Score{Plugin: w.Plugin, Points: points[i] * w.Weight})
			r.Total += points[i] * w.Weight
		}
	}
	return nil
}

// selectNode fills in the nodes with the highest total, and which one is taken.
func (a *attempt) selectNode(rec *decision.Record, feasible []*candidateNode, seed uint64) {
	point := tieStart(seed, a.pod.TieKey())
	var best *candidateNode
	var most int64
	next := 0
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Code != decision.Success {
			continue
		}
		st := feasible[next]
		next++
		switch {
		case best == nil || n.Total > most:
			best, most, rec.Top = st, n.Total, []string{n.Name}
			continue
		case n.Total < most:
			continue
		}
		rec.Top = append(rec.Top, n.Name)
		if precedes(point, st.key, st.node.Name, best.key, best.node.Name) {
			best = st
		}
	}
	rec.Choice = best.node.Name
}
