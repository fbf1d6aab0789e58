package apierror

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRejected reports whether an error proves that the API server did not execute the request. It returns false for
// errors without a status, such as connection errors, and for timeouts and server errors, which may follow a write.
func IsRejected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
}
