package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// evaluate fills in the decision of kube-scheduler.
func (v *vector) evaluate() error {
	ctx, r, err := v.start()
	if err != nil {
		return err
	}
	defer r.stop()
	// Some plugins register informer handlers without waiting for them, so a result
	// counts only when it is repeated.
	var previous []byte
	for range 50 {
		result, err := r.evaluateOnce(ctx, v.Direct)
		if err != nil {
			return err
		}
		current := compact(result)
		if bytes.Equal(current, previous) {
			v.Expect, v.Oracle = result, "kube-scheduler v1.36.3"
			return nil
		}
		previous = current
		if v.hasVolumes() {
			time.Sleep(3 * time.Millisecond)
		}
	}
	return errors.New("the decisions vary")
}

func (v *vector) hasVolumes() bool {
	return slices.ContainsFunc(v.Objects, func(raw json.RawMessage) bool { return bytes.Contains(raw, []byte("PersistentVolume")) })
}

// evaluateOnce makes one attempt, from the queue to the choice.
func (r *testScheduler) evaluateOnce(ctx context.Context, direct bool) (*expectation, error) {
	if !direct {
		queued, ok := r.SchedulingQueue.GetPod(r.pod.Name, r.pod.Namespace)
		if !ok {
			return &expectation{Outcome: "ignored"}, nil
		}
		r.pod = queued.Pod
		if queued.Gated() {
			return r.gated(ctx, queued.GatingPlugin)
		}
		if r.pod.DeletionTimestamp != nil {
			return &expectation{Outcome: "skipped"}, nil
		}
	}
	fw, ok := r.Profiles[r.pod.Spec.SchedulerName]
	if !ok {
		return nil, fmt.Errorf("no profile %q", r.pod.Spec.SchedulerName)
	}
	snapshot, ok := fw.SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the snapshot is a %T", fw.SnapshotSharedLister())
	}
	if err := r.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(r.pod)
	if err != nil {
		return nil, err
	}
	result, failure := r.SchedulePod(ctx, fw, framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: info})
	return (&attempt{ctx: ctx, fw: fw, pod: r.pod, state: framework.NewCycleState(), result: result, failure: failure}).explain()
}

func (r *testScheduler) gated(ctx context.Context, by string) (*expectation, error) {
	for _, plugin := range r.Profiles[r.pod.Spec.SchedulerName].PreEnqueuePlugins() {
		if s := plugin.PreEnqueue(ctx, r.pod); !s.IsSuccess() {
			if plugin.Name() != by {
				return nil, fmt.Errorf("gated by %s, but %s rejects", by, plugin.Name())
			}
			verdict := newRefusal(s)
			verdict.Plugin = plugin.Name()
			return &expectation{Outcome: "gated", PreEnqueue: verdict}, nil
		}
	}
	return nil, fmt.Errorf("gated by %s, but no plugin rejects", by)
}

// attempt is one decision of the scheduler, and repeats it step by step on the same snapshot.
type attempt struct {
	ctx     context.Context
	fw      framework.Framework
	pod     *corev1.Pod
	state   fwk.CycleState
	result  scheduler.ScheduleResult
	failure error
}

func newRefusal(s *fwk.Status) *refusal {
	reasons := slices.Clone(s.Reasons())
	slices.Sort(reasons)
	return &refusal{Plugin: s.Plugin(), Code: s.Code().String(), Reasons: reasons}
}

func (a *attempt) explain() (*expectation, error) {
	var fitError *framework.FitError
	if a.failure != nil && !errors.As(a.failure, &fitError) {
		if errors.Is(a.failure, scheduler.ErrNoNodesAvailable) {
			return &expectation{Outcome: "unschedulable", Message: a.failure.Error()}, nil
		}
		return &expectation{Outcome: "error", Message: a.failure.Error()}, nil
	}
	e := &expectation{Outcome: "scheduled"}
	if fitError != nil {
		e.Outcome, e.Message = "unschedulable", fitError.Error()
	}
	nodes, err := a.fw.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, err
	}
	preFilterResult, status, _ := a.fw.RunPreFilterPlugins(a.ctx, a.state, a.pod)
	if status.IsRejected() {
		if fitError == nil {
			return nil, errors.New("PreFilter rejects, but the pod was scheduled")
		}
		e.PreFilter = newRefusal(status)
		return e, a.preempt(e, fitError)
	}
	if !status.IsSuccess() {
		return nil, fmt.Errorf("PreFilter: %w", status.AsError())
	}
	feasible, err := a.filter(e, nodes, preFilterResult)
	if err != nil {
		return nil, err
	}
	if err := a.check(e, feasible, fitError); err != nil {
		return nil, err
	}
	if fitError != nil {
		return e, a.preempt(e, fitError)
	}
	return e, a.score(e, feasible)
}

// filter evaluates each node, or only the nominated one if it passes.
func (a *attempt) filter(e *expectation, nodes []fwk.NodeInfo, preFilterResult *fwk.PreFilterResult) (feasible []fwk.NodeInfo, err error) {
	if !preFilterResult.AllNodes() {
		e.PreFilterNodes = preFilterResult.NodeNames.UnsortedList()
		slices.Sort(e.PreFilterNodes)
	}
	nominatedNode := a.pod.Status.NominatedNodeName
	at := slices.IndexFunc(nodes, func(n fwk.NodeInfo) bool { return n.Node().Name == nominatedNode })
	if nominatedNode != "" && at >= 0 && a.fw.RunFilterPluginsWithNominatedPods(a.ctx, a.state, a.pod, nodes[at]).IsSuccess() {
		e.NominatedFirst = true
		e.Nodes = []nodeResult{{Name: nominatedNode, Feasible: true}}
		return nodes[at : at+1], nil
	}
	for _, n := range nodes {
		node := nodeResult{Name: n.Node().Name}
		if !preFilterResult.AllNodes() && !preFilterResult.NodeNames.Has(node.Name) && node.Name != nominatedNode {
			node.Plugin, node.Code = "PreFilterResult", fwk.UnschedulableAndUnresolvable.String()
		} else if s := a.fw.RunFilterPluginsWithNominatedPods(a.ctx, a.state, a.pod, n); s.IsSuccess() {
			node.Feasible = true
			feasible = append(feasible, n)
		} else if s.IsRejected() {
			r := newRefusal(s)
			node.Plugin, node.Code, node.Reasons = r.Plugin, r.Code, r.Reasons
		} else {
			return nil, fmt.Errorf("filter: %w", s.AsError())
		}
		e.Nodes = append(e.Nodes, node)
	}
	slices.SortFunc(e.Nodes, func(a, b nodeResult) int { return cmp.Compare(a.Name, b.Name) })
	return feasible, nil
}

// check compares the repetition with the decision of the scheduler.
func (a *attempt) check(e *expectation, feasible []fwk.NodeInfo, fitError *framework.FitError) error {
	if fitError == nil {
		if len(feasible) != a.result.FeasibleNodes {
			return fmt.Errorf("%d nodes are feasible, the scheduler found %d", len(feasible), a.result.FeasibleNodes)
		}
		return nil
	}
	if len(feasible) > 0 {
		return fmt.Errorf("%d nodes are feasible, the scheduler found none", len(feasible))
	}
	for i := range e.Nodes {
		n := &e.Nodes[i]
		s := fitError.Diagnosis.NodeToStatus.Get(n.Name)
		if s.Code().String() != n.Code || n.Plugin != "PreFilterResult" && s.Plugin() != n.Plugin {
			return fmt.Errorf("node %s: %s rejects it, the scheduler reports %s", n.Name, n.Plugin, s.Plugin())
		}
	}
	return nil
}

func (a *attempt) score(e *expectation, feasible []fwk.NodeInfo) error {
	if len(feasible) == 0 {
		return nil
	}
	if s := a.fw.RunPreScorePlugins(a.ctx, a.state, a.pod, feasible); !s.IsSuccess() {
		return fmt.Errorf("PreScore: %s", strings.TrimSpace(s.Message()))
	}
	all, s := a.fw.RunScorePlugins(a.ctx, a.state, a.pod, feasible)
	if !s.IsSuccess() {
		return fmt.Errorf("score: %w", s.AsError())
	}
	best := int64(math.MinInt64)
	for _, node := range all {
		i := slices.IndexFunc(e.Nodes, func(n nodeResult) bool { return n.Name == node.Name })
		e.Nodes[i].Total, e.Nodes[i].Scores = node.TotalScore, map[string]int64{}
		for _, p := range node.Scores {
			if p.Name != names.DynamicResources || p.Score != 0 { // no information without claims
				e.Nodes[i].Scores[p.Name] = p.Score
			}
		}
		best = max(best, node.TotalScore)
	}
	for _, n := range e.Nodes {
		if n.Feasible && n.Total == best {
			e.Top = append(e.Top, n.Name)
		}
	}
	if !slices.Contains(e.Top, a.result.SuggestedHost) {
		return fmt.Errorf("the scheduler chose %s, the best are %v", a.result.SuggestedHost, e.Top)
	}
	return nil
}
