package workload

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// matchFailurePolicy returns the action of the first rule that matches a failed pod; without a
// match the failure counts.
func (j *Job) matchFailurePolicy(p *JobPod) (action FailureAction, message string) {
	if p.Phase != model.Failed {
		return CountFailure, ""
	}
	for n := range j.Policy {
		r := &j.Policy[n]
		if r.OnExit {
			if e := r.matchExit(p); e != nil {
				return r.Action, fmt.Sprintf("Container %s for pod %s failed with exit code %d matching %s rule at index %d",
					e.Container, podKey(j, p), e.Code, actionNames[r.Action], n)
			}
			continue
		}
		for _, c := range r.Conditions {
			if slices.Contains(p.Conditions, c) {
				return r.Action, fmt.Sprintf("Pod %s has condition %s matching %s rule at index %d", podKey(j, p), c.Type, actionNames[r.Action], n)
			}
		}
	}
	return CountFailure, ""
}

// podKey returns the pod's name in messages.
func podKey(j *Job, p *JobPod) string { return j.Namespace + "/" + p.Name }

var actionNames = [...]string{CountFailure: "Count", IgnoreFailure: "Ignore", FailIndex: "FailIndex", FailJob: "FailJob"}

// matchExit returns the first container that the rule matches, or nil.
func (r *FailureRule) matchExit(p *JobPod) *Exit {
	for i := range p.Exits {
		e := &p.Exits[i]
		if e.Code != 0 && (r.Container == "" || r.Container == e.Container) && slices.Contains(r.Codes, e.Code) != r.NotIn {
			return e
		}
	}
	return nil
}

// matchSuccessPolicy returns the index of the first satisfied success rule, or -1.
func (j *Job) matchSuccessPolicy(completed Indexes) int {
	for i, r := range j.Success {
		n := completed.Len()
		want := r.Count
		if r.HasIndexes {
			n = completed.CountCommon(r.Indexes)
			if want == 0 {
				want = r.Indexes.Len()
			}
		}
		if want > 0 && n >= want {
			return i
		}
	}
	return -1
}
