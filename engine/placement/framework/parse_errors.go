package framework

import (
	"errors"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// ParseErrors are the pod's malformed parts of a kind in kube-scheduler's words,
// several in brackets; nil when there are none.
func (ev *Evaluation) ParseErrors(where model.ParseErrorKind) error {
	var texts []string
	for i := range ev.Pod.Spec.ParseErrors {
		if f := &ev.Pod.Spec.ParseErrors[i]; f.Kind == where {
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

// FirstParseError is the first malformed part of a kind, for rules that look no further.
func (ev *Evaluation) FirstParseError(where model.ParseErrorKind) error {
	for i := range ev.Pod.Spec.ParseErrors {
		if f := &ev.Pod.Spec.ParseErrors[i]; f.Kind == where {
			return errors.New(f.Message)
		}
	}
	return nil
}
