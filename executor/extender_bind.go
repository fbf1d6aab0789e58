package executor

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/engine/scheduling"
)

// Bind binds a pod through the extender that has a bind verb. It returns false if there is none, if that extender
// is not interested in the pod, or if it failed and is ignorable. The caller then binds the pod itself. That is safe
// even if the extender did bind the pod, since the API server binds a pod only once.
func (x *Extenders) Bind(ctx context.Context, e scheduling.Bind) (scheduling.Outcome, bool) {
	if x == nil {
		return scheduling.Outcome{}, false
	}
	for _, ex := range x.list {
		if ex.Extender.Bind == "" || !ex.IsInterested(e.Pod) {
			continue
		}
		err := ex.bind(ctx, e)
		switch {
		case err == nil:
			return scheduling.Outcome{Result: scheduling.Done}, true
		case ex.Ignorable:
			x.reportIgnored(ex, ex.Extender.Bind, err)
			return scheduling.Outcome{}, false
		case isDefiniteExtenderRejection(err) || errors.Is(err, errDeclined):
			return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}, true
		}
		return scheduling.Outcome{Result: scheduling.Unknown, Reason: err.Error()}, true
	}
	return scheduling.Outcome{}, false
}

// errDeclined is the error of an extender that responds that it did not bind.
var errDeclined = errors.New("declined")

func (ex *extender) bind(ctx context.Context, e scheduling.Bind) error {
	var result extenderv1.ExtenderBindingResult
	err := ex.call(ctx, ex.Extender.Bind, &extenderv1.ExtenderBindingArgs{PodName: e.Pod.Name, PodNamespace: e.Pod.Namespace,
		PodUID: types.UID(e.Pod.UID), Node: e.Node}, &result)
	if err == nil && result.Error != "" {
		err = ex.wrapError(ex.Extender.Bind, fmt.Errorf("%w: %s", errDeclined, result.Error))
	}
	return err
}
