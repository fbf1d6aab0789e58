package executor

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/apierror"
)

// outcome converts an error to an outcome. See the table in the package comment.
func outcome(err error) scheduling.Outcome {
	switch {
	case err == nil:
		return scheduling.Outcome{Result: scheduling.Done}
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return scheduling.Outcome{Result: scheduling.Conflict, Reason: err.Error()}
	case apierror.IsRejected(err):
		return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
	}
	return scheduling.Outcome{Result: scheduling.Unknown, Reason: err.Error()}
}
