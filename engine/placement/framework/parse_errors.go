package framework

import (
	"errors"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// ParseErrors returns the pod's parse errors of a kind in the format of kube-scheduler;
// nil if there are none.
func (ev *Evaluation) ParseErrors(kind model.ParseErrorKind) error {
	var texts []string
	for i := range ev.Pod.Spec.ParseErrors {
		if f := &ev.Pod.Spec.ParseErrors[i]; f.Kind == kind {
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

// FirstParseError returns the first parse error of a kind; nil if there is none.
func (ev *Evaluation) FirstParseError(kind model.ParseErrorKind) error {
	for i := range ev.Pod.Spec.ParseErrors {
		if f := &ev.Pod.Spec.ParseErrors[i]; f.Kind == kind {
			return errors.New(f.Message)
		}
	}
	return nil
}
