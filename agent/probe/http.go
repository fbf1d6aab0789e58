package probe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Get asks by HTTP as probes and lifecycle hooks do. ok is whether the answer's
// code is from 200 to 399; the message tells why not. container says which number a named
// port has; address stands in where the action names no host.
func Get(ctx context.Context, action *corev1.HTTPGetAction, container *corev1.Container, address string) (ok bool, message string) {
	return false, ""
}
