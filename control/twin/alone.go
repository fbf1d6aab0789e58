package twin

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Busy says that somebody else does the same work: he holds the Lease for it.
type Busy struct {
	Part, Holder, Namespace, Name, Host string
	Lasts                               time.Duration // the Lease, after its last renewal
}

// Error says what to do.
func (b *Busy) Error() string {
	return fmt.Sprintf("a %s runs (Lease %s/%s, held by %s; API server %s) and would undo what this does: stop it first, or compete for its Lease",
		b.Part, b.Namespace, b.Name, b.Holder, b.Host)
}

// Alone returns a *Busy while somebody holds the Lease that copies of a part compete for, by whatever name it has there. It
// is for those that do not compete. A part that runs without a Lease cannot be seen.
func Alone(ctx context.Context, client kubernetes.Interface, part, host, namespace, name string) error {
	l, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("whether a %s runs at %s cannot be seen: %w", part, host, err)
	}
	if holder, lasts, age := read(l); holder != "" && age < lasts {
		return &Busy{Part: part, Holder: holder, Namespace: namespace, Name: name, Host: host, Lasts: lasts}
	}
	return nil
}
