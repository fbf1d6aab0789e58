package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

const (
	// scoreScale scales an extender's score (0 to 10) to the score of a plugin (0 to 100).
	scoreScale = 100 / extenderv1.MaxExtenderPriority
	// maxScore bounds the absolute value of accepted scores to prevent overflow. Like kube-scheduler, Berth
	// accepts scores above 10.
	maxScore = 1 << 30
)

// FilterAndPrioritize calls the interested extenders. It calls the filters in sequence, each with the remaining nodes.
// If more than one node remains, it then calls all prioritize verbs in parallel. The outcome is Refused if a filter
// call fails and the extender is not ignorable.
func (x *Extenders) FilterAndPrioritize(ctx context.Context, e scheduling.CallExtenders) scheduling.Outcome {
	pod, err := x.objects.pod(ctx, e.Pod)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
	}
	var names []string
	for _, n := range e.Nodes {
		names = append(names, n.Node)
	}
	result := &scheduling.ExtenderResult{}
	for _, ex := range x.list {
		if len(names) == 0 {
			break
		}
		if ex.Filter == "" || !ex.IsInterested(e.Pod) {
			continue
		}
		remaining, failed, err := x.filter(ctx, ex, pod, names)
		if err != nil && !ex.Ignorable {
			return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
		}
		if err != nil {
			x.reportIgnored(ex, ex.Filter, err)
			continue
		}
		names, result.FailedNodes = remaining, append(result.FailedNodes, failed...)
	}
	slices.SortFunc(result.FailedNodes, func(a, b scheduling.FailedNode) int { return cmp.Compare(a.Node, b.Node) })
	scores := map[string]int64{}
	if len(names) > 1 {
		scores = x.prioritizeAll(ctx, e, pod, names)
	}
	for _, n := range names {
		result.Nodes = append(result.Nodes, profiles.NodeScore{Node: n, Score: scores[n]})
	}
	return scheduling.Outcome{ExtenderResult: result}
}

// extenderArgs returns the request body for an extender.
func (x *Extenders) extenderArgs(ctx context.Context, ex *extender, pod *corev1.Pod, names []string) (*extenderv1.ExtenderArgs, error) {
	if ex.NodeCacheCapable {
		return &extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names}, nil
	}
	list := &corev1.NodeList{Items: make([]corev1.Node, 0, len(names))}
	for _, name := range names {
		n, err := x.objects.node(ctx, name)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *n)
	}
	return &extenderv1.ExtenderArgs{Pod: pod, Nodes: list}, nil
}

// filter calls one extender's filter verb. A node that the extender removes without a reason counts as rejected and
// unresolvable, as in kube-scheduler.
func (x *Extenders) filter(ctx context.Context, ex *extender, pod *corev1.Pod, names []string) (remaining []string, failed []scheduling.FailedNode, err error) {
	args, err := x.extenderArgs(ctx, ex, pod, names)
	if err != nil {
		return nil, nil, err
	}
	var result extenderv1.ExtenderFilterResult
	if err := ex.call(ctx, ex.Filter, args, &result); err != nil {
		return nil, nil, err
	}
	if result.Error != "" {
		return nil, nil, ex.wrapError(ex.Filter, errors.New(result.Error))
	}
	passed := map[string]bool{}
	for _, n := range passedNodes(ex, &result) {
		if _, requested := slices.BinarySearch(names, n); !requested {
			return nil, nil, ex.wrapError(ex.Filter, fmt.Errorf("node %q was not in the request", n))
		}
		passed[n] = true
	}
	for _, n := range names {
		if passed[n] {
			remaining = append(remaining, n)
			continue
		}
		f := scheduling.FailedNode{Node: n, Extender: ex.URL, Unresolvable: true, Reason: "node(s) rejected by extender " + ex.URL + " without a reason"}
		if reason, ok := result.FailedAndUnresolvableNodes[n]; ok {
			f.Reason = reason
		} else if reason, ok := result.FailedNodes[n]; ok {
			f.Reason, f.Unresolvable = reason, false
		}
		failed = append(failed, f)
	}
	return remaining, failed, nil
}

// passedNodes returns the nodes that passed the filter, according to a response.
func passedNodes(ex *extender, r *extenderv1.ExtenderFilterResult) (names []string) {
	switch {
	case ex.NodeCacheCapable && r.NodeNames != nil:
		return *r.NodeNames
	case r.Nodes != nil:
		for i := range r.Nodes.Items {
			names = append(names, r.Nodes.Items[i].Name)
		}
	}
	return names
}

// prioritizeAll calls the prioritize verbs of all interested extenders in parallel and returns the sum of the
// scores per node. An extender that fails adds no score.
func (x *Extenders) prioritizeAll(ctx context.Context, e scheduling.CallExtenders, pod *corev1.Pod, names []string) map[string]int64 {
	lists := make([]extenderv1.HostPriorityList, len(x.list))
	var wg sync.WaitGroup
	for i, ex := range x.list {
		if ex.Prioritize == "" || !ex.IsInterested(e.Pod) {
			continue
		}
		x.scoring.Add(1)
		wg.Go(func() {
			defer x.scoring.Add(-1)
			var err error
			if lists[i], err = x.prioritize(ctx, ex, pod, names); err != nil {
				x.reportIgnored(ex, ex.Prioritize, err)
			}
		})
	}
	wg.Wait()
	scores := map[string]int64{}
	for i, list := range lists {
		for _, s := range list {
			scores[s.Host] += s.Score * x.list[i].Weight * scoreScale
		}
	}
	return scores
}

// prioritize calls one extender's prioritize verb. The list may contain nodes that were not in the request; the caller
// ignores them, as kube-scheduler does.
func (x *Extenders) prioritize(ctx context.Context, ex *extender, pod *corev1.Pod, names []string) (extenderv1.HostPriorityList, error) {
	args, err := x.extenderArgs(ctx, ex, pod, names)
	if err != nil {
		return nil, err
	}
	var list extenderv1.HostPriorityList
	if err := ex.call(ctx, ex.Prioritize, args, &list); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s.Host] {
			return nil, ex.wrapError(ex.Prioritize, fmt.Errorf("node %q is scored twice", s.Host))
		}
		if s.Score > maxScore || s.Score < -maxScore {
			return nil, ex.wrapError(ex.Prioritize, fmt.Errorf("node %q: score %d: must be between %d and %d", s.Host, s.Score, -maxScore, maxScore))
		}
		seen[s.Host] = true
	}
	return list, nil
}
