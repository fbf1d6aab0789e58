package executor

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// clearNomination takes a pod's nomination back.
func (a *Executor) clearNomination(ctx context.Context, e scheduling.ClearNomination) scheduling.Outcome {
	return a.nominate(ctx, e.Pod, nil)
}

// nominate writes status.nominatedNodeName; nil removes it. A pod that is gone is a
// Conflict, as is a namesake.
func (a *Executor) nominate(ctx context.Context, p *model.Pod, node *string) scheduling.Outcome {
	err := a.patchStatus(ctx, p, map[string]any{"nominatedNodeName": node})
	if apierrors.IsNotFound(err) {
		return scheduling.Outcome{Result: scheduling.Conflict, Reason: err.Error()}
	}
	return outcome(err)
}

// patchStatus merges fields into the status of a pod, and of no namesake.
func (a *Executor) patchStatus(ctx context.Context, p *model.Pod, status map[string]any) error {
	return patchStatus(ctx, a.o.Client, p, "", status)
}
