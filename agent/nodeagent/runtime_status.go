package nodeagent

import (
	"errors"
	"fmt"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RuntimeNotReady returns an error that lists the runtime conditions that are not met, or nil.
func RuntimeNotReady(s *criapi.RuntimeStatus) error {
	var errs []error
	for _, c := range s.GetConditions() {
		if (c.Type == criapi.RuntimeReady || c.Type == criapi.NetworkReady) && !c.Status {
			errs = append(errs, fmt.Errorf("container runtime %s=false: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	return errors.Join(errs...)
}
