package executor

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/scheduling"
)

// outcome converts an error to an outcome. See the table in the package comment.
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

// isDefiniteRejection reports whether an error proves that the API server did not carry out the request. An error
// without a status is a connection error. Timeouts and server errors may be returned after the write.
func isDefiniteRejection(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}
