package executor

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/displacer"
)

// clearNomination removes a pod's nomination.
func (x *Executor) clearNomination(ctx context.Context, e scheduling.ClearNomination) scheduling.Outcome {
	return x.nominate(ctx, e.Pod, nil)
}

// nominate writes status.nominatedNodeName; nil removes it. The outcome is a Conflict if the pod was deleted or
// replaced.
func (x *Executor) nominate(ctx context.Context, p *model.Pod, node *string) scheduling.Outcome {
	_, err := displacer.PatchStatus(ctx, x.o.Client, p, "", map[string]any{"nominatedNodeName": node})
	if apierrors.IsNotFound(err) {
		return scheduling.Outcome{Result: scheduling.Conflict, Reason: err.Error()}
	}
	return outcome(err)
}
