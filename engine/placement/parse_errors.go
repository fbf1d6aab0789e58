package placement

import (
	"errors"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// parseErrors are the pod's malformed parts of a kind in kube-scheduler's words,
// several in brackets; nil when there are none.
func (a *attempt) parseErrors(where model.ParseErrorKind) error {
	var texts []string
	for i := range a.pod.Spec.ParseErrors {
		if f := &a.pod.Spec.ParseErrors[i]; f.Kind == where {
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

// firstParseError is the first malformed part of a kind, for rules that look no further.
func (a *attempt) firstParseError(where model.ParseErrorKind) error {
	for i := range a.pod.Spec.ParseErrors {
		if f := &a.pod.Spec.ParseErrors[i]; f.Kind == where {
			return errors.New(f.Message)
		}
	}
	return nil
}
