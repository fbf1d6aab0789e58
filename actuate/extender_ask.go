package actuate

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
)

const (
	// pointScale brings an extender's 0 to 10 to the 0 to 100 of a rule.
	pointScale = 100 / extenderv1.MaxExtenderPriority
	// maxScore bounds what is accepted, so that nothing overflows. Like
	// kube-scheduler, more than 10 is not refused.
	maxScore = 1 << 30
)

// Ask puts nodes to the extenders that are interested: the filters one after
// the other, each seeing what is left, and then, if a choice is left, the scores all
// at once. It is Refused when a filter that must not fail does.
func (x *Extenders) Ask(ctx context.Context, e scheduling.Ask) scheduling.Outcome {
	pod, err := x.originals.pod(ctx, e.Pod)
	if err != nil {
		return scheduling.Outcome{Result: scheduling.Refused, Why: err.Error()}
	}
	var names []string
	for _, n := range e.Nodes {
		names = append(names, n.Node)
	}
	answer := &scheduling.Answer{}
	for _, ex := range x.list {
		if len(names) == 0 {
			break
		}
		if ex.Filter == "" || !ex.Interested(e.Pod) {
			continue
		}
		left, failed, err := x.filter(ctx, ex, pod, names)
		if err != nil && !ex.Ignorable {
			return scheduling.Outcome{Result: scheduling.Refused, Why: err.Error()}
		}
		if err != nil {
			x.failed(ex, ex.Filter, err)
			continue
		}
		names, answer.Failed = left, append(answer.Failed, failed...)
	}
	slices.SortFunc(answer.Failed, func(a, b scheduling.Failure) int { return cmp.Compare(a.Node, b.Node) })
	points := map[string]int64{}
	if len(names) > 1 {
		points = x.score(ctx, e, pod, names)
	}
	for _, n := range names {
		answer.Nodes = append(answer.Nodes, scheduling.Total{Node: n, Points: points[n]})
	}
	return scheduling.Outcome{Answer: answer}
}

// question is what an extender is asked about nodes.
func (x *Extenders) question(ctx context.Context, ex *extender, pod *corev1.Pod, names []string) (*extenderv1.ExtenderArgs, error) {
	if ex.NodeCacheCapable {
		return &extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names}, nil
	}
	list := &corev1.NodeList{Items: make([]corev1.Node, 0, len(names))}
	for _, name := range names {
		n, err := x.originals.node(ctx, name)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *n)
	}
	return &extenderv1.ExtenderArgs{Pod: pod, Nodes: list}, nil
}

// filter asks one extender which nodes are left. What it neither keeps nor says
// anything about counts as refused for good, as in kube-scheduler.
func (x *Extenders) filter(ctx context.Context, ex *extender, pod *corev1.Pod, names []string) (left []string, failed []scheduling.Failure, err error) {
	args, err := x.question(ctx, ex, pod, names)
	if err != nil {
		return nil, nil, err
	}
	var result extenderv1.ExtenderFilterResult
	if err := ex.call(ctx, ex.Filter, args, &result); err != nil {
		return nil, nil, err
	}
	if result.Error != "" {
		return nil, nil, ex.fault(ex.Filter, errors.New(result.Error))
	}
	kept := map[string]bool{}
	for _, n := range survivors(ex, &result) {
		if _, known := slices.BinarySearch(names, n); !known {
			return nil, nil, ex.fault(ex.Filter, fmt.Errorf("node %q is kept, and was not asked about", n))
		}
		kept[n] = true
	}
	for _, n := range names {
		if kept[n] {
			left = append(left, n)
			continue
		}
		f := scheduling.Failure{Node: n, Extender: ex.URL, Unresolvable: true, Reason: "node(s) refused by extender " + ex.URL + " without a reason"}
		if why, ok := result.FailedAndUnresolvableNodes[n]; ok {
			f.Reason = why
		} else if why, ok := result.FailedNodes[n]; ok {
			f.Reason, f.Unresolvable = why, false
		}
		failed = append(failed, f)
	}
	return left, failed, nil
}

// survivors are the nodes that an answer keeps.
func survivors(ex *extender, r *extenderv1.ExtenderFilterResult) (names []string) {
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

// score asks all interested extenders at once for points, by node. One that
// fails gives none.
func (x *Extenders) score(ctx context.Context, e scheduling.Ask, pod *corev1.Pod, names []string) map[string]int64 {
	lists := make([]extenderv1.HostPriorityList, len(x.list))
	var wg sync.WaitGroup
	for i, ex := range x.list {
		if ex.Prioritize == "" || !ex.Interested(e.Pod) {
			continue
		}
		x.scoring.Add(1)
		wg.Go(func() {
			defer x.scoring.Add(-1)
			var err error
			if lists[i], err = x.prioritize(ctx, ex, pod, names); err != nil {
				x.failed(ex, ex.Prioritize, err)
			}
		})
	}
	wg.Wait()
	points := map[string]int64{}
	for i, list := range lists {
		for _, s := range list {
			points[s.Host] += s.Score * x.list[i].Weight * pointScale
		}
	}
	return points
}

// prioritize asks one extender for scores. It may score nodes that it was not
// asked about, as in kube-scheduler; nobody looks at these.
func (x *Extenders) prioritize(ctx context.Context, ex *extender, pod *corev1.Pod, names []string) (extenderv1.HostPriorityList, error) {
	args, err := x.question(ctx, ex, pod, names)
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
			return nil, ex.fault(ex.Prioritize, fmt.Errorf("node %q is scored twice: must be once", s.Host))
		}
		if s.Score > maxScore || s.Score < -maxScore {
			return nil, ex.fault(ex.Prioritize, fmt.Errorf("node %q is given %d points: must be %d to %d", s.Host, s.Score, extenderv1.MinExtenderPriority, extenderv1.MaxExtenderPriority))
		}
		seen[s.Host] = true
	}
	return list, nil
}
