package executor

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/scheduling"
)

// outcome words an error. See the package comment for the table.
func outcome(err error) scheduling.Outcome {
	switch {
	case err == nil:
		return scheduling.Outcome{Result: scheduling.Done}
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return scheduling.Outcome{Result: scheduling.Conflict, Reason: err.Error()}
	case isDefiniteRejection(err):
		return scheduling.Outcome{Result: scheduling.Refused, Reason: err.Error()}
	}
	return scheduling.Outcome{Result: scheduling.Unknown, Reason: err.Error()}
}

// isDefiniteRejection says whether the server answered that it did nothing. An error
// without a status is one of the connection; time-outs and server errors may
// come after the deed.
func isDefiniteRejection(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}
