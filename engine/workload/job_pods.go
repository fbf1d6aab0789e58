package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// countEnded adds finished pods to the status and releases their finalizers. The success of an index is stored in the
// set of completed indexes, and counts once. All other pods are stored by UID until their finalizer is removed.
func (p *jobPlanner) countEnded() {
	s := p.status()
	var failed []int
	for i := range p.pods {
		switch pod := &p.pods[i]; {
		case pod.Tracked && pod.Phase == model.Succeeded:
			p.countSuccess(i)
		case pod.Tracked && p.isFailure(pod):
			failed = append(failed, i)
			p.failIndex(pod)
		}
	}
	var retained int32
	for _, i := range failed {
		action, message := p.job.matchFailurePolicy(&p.pods[i])
		if action == FailJob && p.failJobMessage == "" {
			p.failJobMessage = message
		}
		counts := action != IgnoreFailure && !(p.succeeding && p.pods[i].Phase != model.Failed)
		if p.retainsFailed(i) {
			if counts {
				retained++
			}
			continue
		}
		if counts && !slices.Contains(s.UncountedFailed, p.pods[i].UID) {
			s.UncountedFailed = append(s.UncountedFailed, p.pods[i].UID)
		}
		p.plan.RemoveFinalizers = append(p.plan.RemoveFinalizers, i)
	}
	if p.job.Indexed {
		s.Succeeded = s.Completed.Len()
	}
	p.succeeded = s.Succeeded + int32(len(s.UncountedSucceeded))
	p.failed = s.Failed + int32(len(s.UncountedFailed)) + retained
}

func (p *jobPlanner) countSuccess(i int) {
	s, pod := p.status(), &p.pods[i]
	p.plan.RemoveFinalizers = append(p.plan.RemoveFinalizers, i)
	switch {
	case !p.job.Indexed:
		if !slices.Contains(s.UncountedSucceeded, pod.UID) {
			s.UncountedSucceeded = append(s.UncountedSucceeded, pod.UID)
		}
	case pod.Index >= 0 && pod.Index < p.job.Completions:
		s.Completed = s.Completed.With(pod.Index)
	}
}

// failIndex marks an index as failed if its limit is reached.
func (p *jobPlanner) failIndex(pod *JobPod) {
	s := p.status()
	if !p.job.BackoffPerIndex || pod.Index < 0 || pod.Index >= p.job.Completions || s.Completed.Has(pod.Index) {
		return
	}
	action, _ := p.job.matchFailurePolicy(pod)
	if action == FailIndex || action != IgnoreFailure && pod.Failures >= p.job.BackoffLimitPerIndex {
		s.FailedIndexes = s.FailedIndexes.With(pod.Index)
	}
}

// retainsFailed reports whether a failed pod is kept until its replacement exists, which inherits
// its failure count.
func (p *jobPlanner) retainsFailed(i int) bool {
	s, pod := p.status(), &p.pods[i]
	if !p.job.BackoffPerIndex || p.failing || p.succeeding || pod.Index < 0 || pod.Index >= p.job.Completions || p.latest[pod.Index] != i ||
		s.Completed.Has(pod.Index) || s.FailedIndexes.Has(pod.Index) {
		return false
	}
	return !slices.ContainsFunc(p.pods, func(o JobPod) bool {
		return o.Index == pod.Index && o.UID != "" && failuresBefore(&o) > failuresBefore(pod)
	})
}

// managePods creates missing pods or deletes excess ones.
func (p *jobPlanner) managePods() {
	j, active := p.job, int32(len(p.active))
	want := min(max(0, j.Completions-p.succeeded), j.Parallelism)
	switch {
	case j.AnyCompletion && p.succeeded > 0:
		want = active
	case j.AnyCompletion:
		want = j.Parallelism
	case j.BackoffPerIndex:
		want = min(max(0, j.Completions-p.succeeded-p.status().FailedIndexes.Len()), j.Parallelism)
	}
	if p.deleteExcess(active - want); len(p.plan.Delete) > 0 {
		return
	}
	need := want - active
	if j.ReplaceOnlyFailed {
		need -= int32(len(p.terminating))
	}
	if need = min(need, Burst); need <= 0 {
		return
	}
	if !j.BackoffPerIndex {
		if until := p.backoffUntil(); until.After(p.now) {
			p.plan.Wake = order.Earliest(p.plan.Wake, until)
			return
		}
	}
	if j.Indexed {
		p.createIndexes(need)
		return
	}
	for range need {
		p.plan.Create = append(p.plan.Create, JobCreate{Index: NoIndex})
	}
}

// deleteExcess deletes n excess pods: first those whose index needs no work, then those whose loss
// costs least.
func (p *jobPlanner) deleteExcess(n int32) {
	active := make([]Pod, 0, len(p.active))
	for _, i := range p.active {
		active = append(active, p.pods[i].Pod)
	}
	ranked := RankForDeletion(p.now, active, nil)
	var surplus, remaining []int
	used := map[int32]bool{}
	for k := len(ranked) - 1; k >= 0; k-- { // the most valuable pod keeps its index
		i := p.active[ranked[k]]
		x := p.pods[i].Index
		if p.job.Indexed && (x < 0 || x >= p.job.Completions || used[x] || p.status().Completed.Has(x) || p.status().FailedIndexes.Has(x)) {
			surplus = append(surplus, i)
			continue
		}
		used[x] = true
		remaining = append(remaining, i)
	}
	slices.Reverse(remaining)
	for _, i := range append(surplus, remaining[:min(max(0, int(n)-len(surplus)), len(remaining))]...) {
		p.plan.Delete = append(p.plan.Delete, JobDelete{i, true})
	}
	p.plan.Delete = p.plan.Delete[:min(len(p.plan.Delete), Burst)]
}

// backoffUntil returns the time before which no pod is created. It is 10 s after the first failure since
// the last success. Each further failure doubles the backoff, up to ten minutes.
func (p *jobPlanner) backoffUntil() time.Time {
	var finished []*JobPod
	for i := range p.pods {
		if p.pods[i].Finished() {
			finished = append(finished, &p.pods[i])
		}
	}
	slices.SortFunc(finished, func(a, b *JobPod) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.UID, b.UID)) })
	var last time.Time
	failures := 0
	for _, pod := range finished {
		if pod.Phase == model.Succeeded {
			failures = 0
			continue
		}
		failures++
		last = pod.Ended
	}
	if failures == 0 {
		return time.Time{}
	}
	return last.Add(backoffAfter(failures))
}

// createIndexes creates up to need pods for the lowest missing indexes.
func (p *jobPlanner) createIndexes(need int32) {
	s, used := p.status(), map[int32]bool{}
	for _, i := range p.active {
		used[p.pods[i].Index] = true
	}
	if p.job.ReplaceOnlyFailed {
		for _, i := range p.terminating {
			used[p.pods[i].Index] = true
		}
	}
	for x := int32(0); x < p.job.Completions && need > 0; x++ {
		if at, found := s.Completed.find(x); found {
			x = s.Completed[at].Last
			continue
		}
		if at, found := s.FailedIndexes.find(x); found {
			x = s.FailedIndexes[at].Last
			continue
		}
		if used[x] {
			continue
		}
		need--
		if c, until := p.nextPod(x); until.After(p.now) {
			p.plan.Wake = order.Earliest(p.plan.Wake, until)
		} else {
			p.plan.Create = append(p.plan.Create, c)
		}
	}
}

// nextPod returns the next pod of an index and when it may be created.
func (p *jobPlanner) nextPod(x int32) (c JobCreate, until time.Time) {
	c.Index = x
	i, failed := p.latest[x]
	if !p.job.BackoffPerIndex || !failed {
		return c, time.Time{}
	}
	pod := &p.pods[i]
	c.Failures, c.Ignored = pod.Failures, pod.Ignored
	if action, _ := p.job.matchFailurePolicy(pod); action == IgnoreFailure {
		c.Ignored++
	} else {
		c.Failures++
	}
	if pod.Ended.IsZero() {
		return c, time.Time{}
	}
	return c, pod.Ended.Add(backoffAfter(int(failuresBefore(pod) + 1)))
}
