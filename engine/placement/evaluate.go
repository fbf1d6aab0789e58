package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// Evaluate decides about a pod on a state. It returns the verdict or the scores of every node, the best nodes and the
// node selected under the seed. It does not change the state. To explain an assigned pod, pass a fork without it.
func Evaluate(s *cluster.State, p *framework.Profile, seed uint64, pod *model.Pod) *decision.Record {
	rec := &decision.Record{Pod: pod.Key(), UID: pod.UID, Revision: s.Revision(), Profile: p.Name()}
	if pod.Spec.SchedulerName != p.Name() || pod.Finished() {
		rec.Outcome = decision.Ignored
		return rec
	}
	if rec.PreEnqueue = plugins.PreEnqueue(p, s, pod); rec.PreEnqueue != nil {
		rec.Outcome = decision.Gated
		rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(rec.PreEnqueue.Plugin)
		return rec
	}
	if pod.Deleting {
		rec.Outcome = decision.Skipped
		return rec
	}
	rec.Outcome = decision.Infeasible
	ev := framework.NewEvaluation(s, p, pod, s.NodeIDs())
	if len(ev.Nodes) == 0 || !runPreFilters(ev, rec) {
		return rec
	}
	feasible := findNodesThatFit(ev, rec)
	if len(feasible) == 0 {
		return rec
	}
	rec.Outcome = decision.Scheduled
	if err := prioritizeNodes(ev, rec, feasible); err != nil && len(feasible) > 1 {
		rec.Outcome, rec.Error, rec.Nodes = decision.Errored, err.Error(), nil
		return rec
	}
	selectNode(ev, rec, feasible, seed)
	return rec
}

// EvaluateNodes decides as if the cluster had only the given nodes, sorted by name. The
// pod must be schedulable by Evaluate, no plugin may count pods on other nodes, and no
// plugin may fail.
func EvaluateNodes(s *cluster.State, p *framework.Profile, seed uint64, pod *model.Pod, nodes []cluster.NodeID) *decision.Record {
	rec := &decision.Record{Pod: pod.Key(), UID: pod.UID, Revision: s.Revision(), Profile: p.Name(), Outcome: decision.Infeasible}
	ev := framework.NewEvaluation(s, p, pod, nodes)
	if !runPreFilters(ev, rec) {
		return rec
	}
	if feasible := findNodesThatFit(ev, rec); len(feasible) > 0 {
		rec.Outcome = decision.Scheduled
		if err := prioritizeNodes(ev, rec, feasible); err == nil {
			selectNode(ev, rec, feasible, seed)
		}
	}
	return rec
}

// runPreFilters runs the PreFilter plugins. It reports whether the filters must run: no
// plugin failed or rejected all nodes.
func runPreFilters(ev *framework.Evaluation, rec *decision.Record) bool {
	cfg := ev.Profile.Config()
	states := make([]*framework.PreFilterState, decision.NumPlugins)
	var preFilterPlugins []string
	for _, plugin := range cfg.PreFilter {
		state := plugins.PreFilter(ev, plugin)
		states[plugin] = &state
		if state.Err != nil {
			recordError(rec, plugin, state.Err)
			return false
		}
		if v := state.Verdict; v != nil {
			recordRejection(rec, plugin, v)
			if v.Code == decision.UnschedulableAndUnresolvable {
				return false
			}
			continue
		}
		if !state.HasNodeNames {
			continue
		}
		preFilterPlugins = append(preFilterPlugins, plugin.String())
		rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(plugin)
		if !intersectNodes(rec, state.NodeNames) {
			recordRejection(rec, decision.NoPlugin, noCommonNodes(preFilterPlugins))
			return false
		}
	}
	if rec.PreFilter != nil {
		return false
	}
	if state := plugins.PreFilter(ev, decision.HoldAvoid); state.Filter != nil {
		ev.Filters = append(ev.Filters, framework.FilterPlugin{Plugin: decision.HoldAvoid, Filter: state.Filter})
	}
	for _, plugin := range cfg.Filter {
		if states[plugin] == nil {
			state := plugins.PreFilter(ev, plugin)
			if state.Err != nil {
				recordError(rec, plugin, state.Err)
				return false
			}
			if state.Verdict != nil {
				recordRejection(rec, plugin, state.Verdict)
				return false
			}
			states[plugin] = &state
		}
		if states[plugin].Filter != nil {
			ev.Filters = append(ev.Filters, framework.FilterPlugin{Plugin: plugin, Filter: states[plugin].Filter})
		}
	}
	return true
}

func recordError(rec *decision.Record, plugin decision.Plugin, err error) {
	rec.Outcome, rec.Error = decision.Errored, fmt.Sprintf("running PreFilter plugin %q: %v", plugin, err)
}

// recordRejection records that a plugin rejects all nodes. The first one is kept, unless a
// later one is not resolvable.
func recordRejection(rec *decision.Record, plugin decision.Plugin, v *decision.Verdict) {
	rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(plugin)
	if rec.PreFilter == nil || v.Code == decision.UnschedulableAndUnresolvable {
		verdict := *v
		verdict.Plugin = plugin
		rec.PreFilter = &verdict
	}
}

// intersectNodes limits the search to names and reports whether any node remains.
func intersectNodes(rec *decision.Record, names []string) bool {
	if rec.HasPreFilterNodes {
		rec.PreFilterNodes = slices.DeleteFunc(slices.Clone(rec.PreFilterNodes), func(n string) bool { return !slices.Contains(names, n) })
	} else {
		rec.HasPreFilterNodes, rec.PreFilterNodes = true, names
	}
	return len(rec.PreFilterNodes) > 0
}

// noCommonNodes returns the verdict if the nodes of several plugins have no node in common.
func noCommonNodes(names []string) *decision.Verdict {
	slices.Sort(names)
	text := "node(s) didn't satisfy plugin " + names[0]
	if len(names) > 1 {
		text = "node(s) didn't satisfy plugin(s) [" + strings.Join(names, " ") + "] simultaneously"
	}
	v := framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: text})
	return &v
}

// findNodesThatFit filters the nodes and returns the feasible ones, sorted by name. It returns only
// the nominated node if it fits, or the first reserved node that fits, or all.
func findNodesThatFit(ev *framework.Evaluation, rec *decision.Record) []*framework.CandidateNode {
	var nominatedVerdict decision.Verdict // verdict of the nominated node, even if PreFilter excluded that node
	if candidate := ev.NodeByName(ev.Pod.NominatedNodeName); candidate != nil {
		if nominatedVerdict = ev.RunFiltersWithNominatedPods(candidate); nominatedVerdict.Code == decision.Success {
			rec.NominatedFirst = true
			rec.Nodes = []decision.NodeRecord{{Name: candidate.Node.Name}}
			return []*framework.CandidateNode{candidate}
		}
		ev.Err = "" // an error counts only if it recurs when all nodes are filtered
		if rec.HasPreFilterNodes && nominatedVerdict.Plugin != decision.NodeAffinity {
			names := []string{decision.NodeAffinity.String(), nominatedVerdict.Plugin.String()}
			slices.Sort(names)
			rec.PreFilterPlugins = strings.Join(names, " ")
		}
	}
	for _, id := range ev.State.AppendReserved(nil, ev.Pod) {
		candidate := ev.NodeByName(ev.State.Node(id).Model.Name)
		if candidate == nil {
			continue
		}
		if v := ev.RunFiltersWithNominatedPods(candidate); v.Code == decision.Success {
			rec.ReservedFirst = true
			rec.Nodes = []decision.NodeRecord{{Name: candidate.Node.Name}}
			return []*framework.CandidateNode{candidate}
		}
		ev.Err = ""
	}
	var feasible []*framework.CandidateNode
	rec.Nodes = make([]decision.NodeRecord, 0, len(ev.Nodes))
	for i := range ev.Nodes {
		candidate := &ev.Nodes[i]
		node := decision.NodeRecord{Name: candidate.Node.Name}
		if rec.HasPreFilterNodes && !slices.Contains(rec.PreFilterNodes, candidate.Node.Name) {
			node.Verdict = decision.Verdict{Plugin: decision.PreFilterResult, Code: decision.UnschedulableAndUnresolvable}
			if nominatedVerdict.Code != decision.Success && candidate.Node.Name == ev.Pod.NominatedNodeName {
				node.Verdict = nominatedVerdict
				rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(nominatedVerdict.Plugin)
			}
		} else if node.Verdict = ev.RunFiltersWithNominatedPods(candidate); node.Verdict.Code == decision.Success {
			feasible = append(feasible, candidate)
		} else {
			rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(node.Verdict.Plugin)
		}
		if ev.Err != "" {
			rec.Outcome, rec.Error, rec.Nodes, rec.UnschedulablePlugins = decision.Errored, ev.Err, nil, 0
			return nil
		}
		rec.Nodes = append(rec.Nodes, node)
	}
	return feasible
}

// prioritizeNodes adds the scores of the feasible nodes to the record.
func prioritizeNodes(ev *framework.Evaluation, rec *decision.Record, feasible []*framework.CandidateNode) error {
	cfg := ev.Profile.Config()
	states := make([]*framework.PreScoreState, decision.NumPlugins)
	for _, plugin := range cfg.PreScore {
		state := plugins.PreScore(ev, plugin, feasible)
		if state.Err != nil {
			return fmt.Errorf("running PreScore plugin %q: %w", plugin, state.Err)
		}
		states[plugin] = &state
	}
	records := make([]*decision.NodeRecord, 0, len(feasible))
	for i := range rec.Nodes {
		if rec.Nodes[i].Verdict.Code == decision.Success {
			records = append(records, &rec.Nodes[i])
		}
	}
	points := make([]int64, len(feasible))
	for _, w := range cfg.Score {
		state := states[w.Plugin]
		if state == nil {
			c := plugins.PreScore(ev, w.Plugin, feasible)
			state = &c
		}
		if state.Err != nil {
			return fmt.Errorf("running Score plugin %q: %w", w.Plugin, state.Err)
		}
		if state.Score == nil {
			continue
		}
		for i, candidate := range feasible {
			points[i] = state.Score(candidate)
		}
		if state.NormalizeScore != nil {
			state.NormalizeScore(feasible, points)
		}
		for i, r := range records {
			r.Scores = append(r.Scores, decision.Score{Plugin: w.Plugin, Points: points[i] * w.Weight})
			r.Total += points[i] * w.Weight
		}
	}
	return nil
}

// selectNode determines the nodes with the highest total and selects one of them.
func selectNode(ev *framework.Evaluation, rec *decision.Record, feasible []*framework.CandidateNode, seed uint64) {
	start := NewTieBreaker(seed, ev.Pod.TieKey()).Start()
	var best *framework.CandidateNode
	var highest int64
	next := 0
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Code != decision.Success {
			continue
		}
		candidate := feasible[next]
		next++
		switch {
		case best == nil || n.Total > highest:
			best, highest, rec.Top = candidate, n.Total, []string{n.Name}
			continue
		case n.Total < highest:
			continue
		}
		rec.Top = append(rec.Top, n.Name)
		if precedes(start, candidate.NameHash, candidate.Node.Name, best.NameHash, best.Node.Name) {
			best = candidate
		}
	}
	rec.Choice = best.Node.Name
}
