package apierror

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IgnoreNotFound returns nil if the object of a request does not exist, and else the error.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
