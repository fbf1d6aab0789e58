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
		rec.Rejectors = rec.Rejectors.With(rec.PreEnqueue.Rule)
		return rec
	}
	if pod.Deleting {
		rec.Outcome = decision.Skipped
		return rec
	}
	rec.Outcome = decision.Infeasible
	a := newAttempt(s, p, pod)
	if len(a.sites) == 0 || !a.compile(rec) {
		return rec
	}
	feasible := a.search(rec)
	if len(feasible) == 0 {
		return rec
	}
	rec.Outcome = decision.Scheduled
	if err := a.score(rec, feasible); err != nil && len(feasible) > 1 {
		rec.Outcome, rec.Error, rec.Nodes = decision.Errored, err.Error(), nil
		return rec
	}
	a.choose(rec, feasible, seed)
	return rec
}

// compile asks every rule what it makes of the pod, and says whether there is
// anything left to judge: no rule failed or refused.
func (a *attempt) compile(rec *decision.Record) bool {
	cfg := &a.profile.cfg
	ready := make([]*compiled, decision.NumRules)
	var narrowing []string
	for _, r := range cfg.PreFilter {
		c := a.compileFilter(r)
		ready[r] = &c
		if c.err != nil {
			a.fault(rec, r, c.err)
			return false
		}
		if v := c.refusal; v != nil {
			a.refuse(rec, r, v)
			if v.Code == decision.Unresolvable {
				return false
			}
			continue
		}
		if !c.narrowed {
			continue
		}
		narrowing = append(narrowing, r.String())
		rec.Rejectors = rec.Rejectors.With(r)
		if !narrow(rec, c.names) {
			a.refuse(rec, decision.NoRule, contradiction(narrowing))
			return false
		}
	}
	if rec.PreFilter != nil {
		return false
	}
	if c := a.avoid(); c.judge != nil {
		a.filters = append(a.filters, filter{decision.HoldAvoid, c.judge})
	}
	for _, r := range cfg.Filter {
		if ready[r] == nil {
			c := a.compileFilter(r)
			if c.err != nil {
				a.fault(rec, r, c.err)
				return false
			}
			if c.refusal != nil {
				a.refuse(rec, r, c.refusal)
				return false
			}
			ready[r] = &c
		}
		if ready[r].judge != nil {
			a.filters = append(a.filters, filter{r, ready[r].judge})
		}
	}
	return true
}

// fault records that a rule cannot make anything of the pod.
func (a *attempt) fault(rec *decision.Record, r decision.Rule, err error) {
	rec.Outcome, rec.Error = decision.Errored, fmt.Sprintf("running PreFilter plugin %q: %v", r, err)
}

// refuse records that a rule refuses all nodes; the first one to do so stands.
func (a *attempt) refuse(rec *decision.Record, r decision.Rule, v *decision.Verdict) {
	rec.Rejectors = rec.Rejectors.With(r)
	if rec.PreFilter == nil || v.Code == decision.Unresolvable {
		own := *v
		own.Rule = r
		rec.PreFilter = &own
	}
}

// narrow limits the record's search to names, and says whether any are left.
func narrow(rec *decision.Record, names []string) bool {
	if rec.Narrowed {
		rec.PreFilterNodes = slices.DeleteFunc(slices.Clone(rec.PreFilterNodes), func(n string) bool { return !slices.Contains(names, n) })
	} else {
		rec.Narrowed, rec.PreFilterNodes = true, names
	}
	return len(rec.PreFilterNodes) > 0
}

// contradiction is the refusal when rules narrow the search to nothing.
func contradiction(rules []string) *decision.Verdict {
	slices.Sort(rules)
	text := "node(s) didn't satisfy plugin " + rules[0]
	if len(rules) > 1 {
		text = "node(s) didn't satisfy plugin(s) [" + strings.Join(rules, " ") + "] simultaneously"
	}
	v := rejects(decision.Unresolvable, decision.Reason{Why: decision.WhyText, Subject: text})
	return &v
}

// search judges the nodes and returns those that fit, in the order of names: the
// pod's nominated node alone if it fits, else the first of those held for it that does, else all that
// narrowing left.
func (a *attempt) search(rec *decision.Record) []*site {
	var own decision.Verdict // of the nominated node; it stands even outside of what was narrowed to
	if st := a.siteNamed(a.pod.Nominated); st != nil {
		if own = a.judgeNominated(st); own.Code == decision.Fits {
			rec.NominatedFirst = true
			rec.Nodes = []decision.NodeRecord{{Name: st.node.Name}}
			return []*site{st}
		}
		a.failed = "" // what fails here decides only if it fails among all nodes
		if rec.Narrowed && own.Rule != decision.NodeAffinity {
			rules := []string{decision.NodeAffinity.String(), own.Rule.String()}
			slices.Sort(rules)
			rec.NarrowedBy = strings.Join(rules, " ")
		}
	}
	for _, id := range a.state.AppendReserved(nil, a.pod) {
		st := a.siteNamed(a.state.Node(id).Model.Name)
		if v := a.judgeNominated(st); v.Code == decision.Fits {
			rec.HeldFirst = true
			rec.Nodes = []decision.NodeRecord{{Name: st.node.Name}}
			return []*site{st}
		}
		a.failed = ""
	}
	var feasible []*site
	rec.Nodes = make([]decision.NodeRecord, 0, len(a.sites))
	for i := range a.sites {
		st := &a.sites[i]
		node := decision.NodeRecord{Name: st.node.Name}
		if rec.Narrowed && !slices.Contains(rec.PreFilterNodes, st.node.Name) {
			node.Verdict = decision.Verdict{Rule: decision.PreFilterResult, Code: decision.Unresolvable}
			if own.Code != decision.Fits && st.node.Name == a.pod.Nominated {
				node.Verdict = own
				rec.Rejectors = rec.Rejectors.With(own.Rule)
			}
		} else if node.Verdict = a.judgeNominated(st); node.Verdict.Code == decision.Fits {
			feasible = append(feasible, st)
		} else {
			rec.Rejectors = rec.Rejectors.With(node.Verdict.Rule)
		}
		if a.failed != "" {
			rec.Outcome, rec.Error, rec.Nodes, rec.Rejectors = decision.Errored, a.failed, nil, 0
			return nil
		}
		rec.Nodes = append(rec.Nodes, node)
	}
	return feasible
}

func (a *attempt) siteNamed(name string) *site {
	if name == "" {
		return nil
	}
	i, ok := slices.BinarySearchFunc(a.sites, name, func(st site, n string) int { return strings.Compare(st.node.Name, n) })
	if !ok {
		return nil
	}
	return &a.sites[i]
}

// score fills in the scores and totals of the feasible nodes.
func (a *attempt) score(rec *decision.Record, feasible []*site) error {
	cfg := &a.profile.cfg
	ready := make([]*scoring, decision.NumRules)
	for _, r := range cfg.PreScore {
		s := a.compileScore(r, feasible)
		if s.err != nil {
			return fmt.Errorf("running PreScore plugin %q: %w", r, s.err)
		}
		ready[r] = &s
	}
	records := make([]*decision.NodeRecord, 0, len(feasible))
	for i := range rec.Nodes {
		if rec.Nodes[i].Verdict.Code == decision.Fits {
			records = append(records, &rec.Nodes[i])
		}
	}
	points := make([]int64, len(feasible))
	for _, w := range cfg.Score {
		s := ready[w.Rule]
		if s == nil {
			c := a.compileScore(w.Rule, feasible)
			s = &c
		}
		if s.err != nil {
			return fmt.Errorf("running Score plugin %q: %w", w.Rule, s.err)
		}
		if s.raw == nil {
			continue
		}
		for i, st := range feasible {
			points[i] = s.raw(st)
		}
		if s.normalise != nil {
			s.normalise(feasible, points)
		}
		for i, r := range records {
			r.Scores = append(r.Scores, decision.Score{Rule: w.Rule, Points: points[i] * w.Weight})
			r.Total += points[i] * w.Weight
		}
	}
	return nil
}

// choose fills in the nodes with the highest total, and which one is taken.
func (a *attempt) choose(rec *decision.Record, feasible []*site, seed uint64) {
	point := tiePoint(seed, a.pod.TieKey())
	var best *site
	var most int64
	next := 0
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Code != decision.Fits {
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
		if before(point, st.key, st.node.Name, best.key, best.node.Name) {
			best = st
		}
	}
	rec.Choice = best.node.Name
}
