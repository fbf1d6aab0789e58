package workload

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// verdict is what the first rule that matches a failed pod has done; without one, the failure counts.
func (j *Job) verdict(p *JobPod) (action FailureAction, message string) {
	if p.Phase != model.Failed {
		return CountFailure, ""
	}
	for n := range j.Policy {
		r := &j.Policy[n]
		if r.OnExit {
			if e := r.exit(p); e != nil {
				return r.Action, fmt.Sprintf("Container %s for pod %s failed with exit code %d matching %s rule at index %d",
					e.Container, namespaced(j, p), e.Code, actionNames[r.Action], n)
			}
			continue
		}
		for _, c := range r.Conditions {
			if slices.Contains(p.Conditions, c) {
				return r.Action, fmt.Sprintf("Pod %s has condition %s matching %s rule at index %d", namespaced(j, p), c.Type, actionNames[r.Action], n)
			}
		}
	}
	return CountFailure, ""
}

// namespaced is how messages name a pod.
func namespaced(j *Job, p *JobPod) string { return j.Namespace + "/" + p.Name }

var actionNames = [...]string{CountFailure: "Count", IgnoreFailure: "Ignore", FailIndex: "FailIndex", FailJob: "FailJob"}

// exit is the first container that the rule is about; nil if there is none.
func (r *FailureRule) exit(p *JobPod) *Exit {
	for i := range p.Exits {
		e := &p.Exits[i]
		if e.Code != 0 && (r.Container == "" || r.Container == e.Container) && slices.Contains(r.Codes, e.Code) != r.NotIn {
			return e
		}
	}
	return nil
}

// succeeded is the number of the first success rule that is met; -1 if there is none.
func (j *Job) succeeded(done Indexes) int {
	for n, r := range j.Success {
		have := done.Len()
		want := r.Count
		if r.HasIndexes {
			have = done.Common(r.Indexes)
			if want == 0 {
				want = r.Indexes.Len()
			}
		}
		if want > 0 && have >= want {
			return n
		}
	}
	return -1
}
