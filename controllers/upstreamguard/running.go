package upstreamguard

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AlreadyRunningError says that somebody else does the same work: he holds the Lease for it.
type AlreadyRunningError struct {
	Component, Holder, Namespace, Name, Host string
	LeaseDuration                            time.Duration // the Lease, after its last renewal
}

// Error says what to do.
func (b *AlreadyRunningError) Error() string {
	return fmt.Sprintf("a %s runs (Lease %s/%s, held by %s; API server %s) and would undo what this does: stop it first, or compete for its Lease",
		b.Component, b.Namespace, b.Name, b.Holder, b.Host)
}

// CheckNotRunning returns a *Busy while somebody holds the Lease that copies of a part compete for, by whatever name it has there. It
// is for those that do not compete. A part that runs without a Lease cannot be seen.
func CheckNotRunning(ctx context.Context, client kubernetes.Interface, component, host, namespace, name string) error {
	l, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("whether a %s runs at %s cannot be seen: %w", component, host, err)
	}
	if holder, duration, age := readLease(l); holder != "" && age < duration {
		return &AlreadyRunningError{Component: component, Holder: holder, Namespace: namespace, Name: name, Host: host, LeaseDuration: duration}
	}
	return nil
}
