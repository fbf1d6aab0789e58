package upstreamguard

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AlreadyRunningError reports that another process holds the Lease of the same component.
type AlreadyRunningError struct {
	Component, Holder, Namespace, Name, Host string
	LeaseDuration                            time.Duration // of the Lease
}

// Error names the conflict and what to do.
func (e *AlreadyRunningError) Error() string {
	return fmt.Sprintf("a %s is running (Lease %s/%s, held by %s; API server %s) and would conflict: stop it first, or enable leader election on its Lease",
		e.Component, e.Namespace, e.Name, e.Holder, e.Host)
}

// CheckNotRunning returns an *AlreadyRunningError while a process holds the Lease of a component. It is for processes
// that do not take part in the election. A component that runs without a Lease is not detected.
func CheckNotRunning(ctx context.Context, client kubernetes.Interface, component, host, namespace, name string) error {
	l, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking for a running %s at %s: %w", component, host, err)
	}
	if holder, duration, age := readLease(l); holder != "" && age < duration {
		return &AlreadyRunningError{Component: component, Holder: holder, Namespace: namespace, Name: name, Host: host, LeaseDuration: duration}
	}
	return nil
}
