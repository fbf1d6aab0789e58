package placement

import (
	"errors"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// faults are the pod's malformed parts of a kind in kube-scheduler's words,
// several in brackets; nil when there are none.
func (a *attempt) faults(where model.FaultPlace) error {
	var texts []string
	for i := range a.pod.Spec.Faults {
		if f := &a.pod.Spec.Faults[i]; f.Where == where {
			texts = append(texts, f.Message)
		}
	}
	switch len(texts) {
	case 0:
		return nil
	case 1:
		return errors.New(texts[0])
	}
	return errors.New("[" + strings.Join(texts, ", ") + "]")
}

// firstFault is the first malformed part of a kind, for rules that look no further.
func (a *attempt) firstFault(where model.FaultPlace) error {
	for i := range a.pod.Spec.Faults {
		if f := &a.pod.Spec.Faults[i]; f.Where == where {
			return errors.New(f.Message)
		}
	}
	return nil
}
