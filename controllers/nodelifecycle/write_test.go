package nodelifecycle

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/runner/runnertest"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

// TestRenewedNodeIsNotMarkedUnknown checks that a node is not marked if the API server has a later renewal of its Lease
// than the machine.
func TestRenewedNodeIsNotMarkedUnknown(t *testing.T) {
	renewed := time.Now().Add(-time.Minute)
	for name, tc := range map[string]struct {
		renewed     time.Time
		wantRenewed bool
	}{
		"unchanged":           {renewed, false},
		"renewed later":       {renewed.Add(-time.Minute), true},
		"without any renewal": {time.Time{}, false},
	} {
		n, at := newNode("a"), metav1.NewMicroTime(renewed)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: corev1.NamespaceNodeLease}, Spec: coordinationv1.LeaseSpec{RenewTime: &at}}
		api := fake.NewClientset(n, lease)
		nodes, leases := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil), cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		if err := errors.Join(nodes.Add(n), leases.Add(lease)); err != nil {
			t.Fatal(err)
		}
		h := &controller{env: runner.Production(), client: api, nodes: corelisters.NewNodeLister(nodes), leases: coordinationlisters.NewLeaseLister(leases).Leases(corev1.NamespaceNodeLease),
			machine: runner.NewMachine(runnertest.NewProcess(&runnertest.Queues{}), 0, func(time.Time, []nodelifecycle.Event) time.Time { return time.Time{} })}
		err := h.markUnknown(t.Context(), nodelifecycle.MarkUnknown{Node: "a", UID: string(n.UID), Renewed: tc.renewed,
			Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: nodelifecycle.Unknown, Transition: renewed}}})
		if errors.Is(err, errLeaseRenewed) != tc.wantRenewed || !tc.wantRenewed && err != nil {
			t.Errorf("%s: error %v, want renewed %v", name, err, tc.wantRenewed)
		}
		if got := nodeState(t.Context(), t, api, "a"); (got == "True") != tc.wantRenewed {
			t.Errorf("%s: node state %q, want renewed %v", name, got, tc.wantRenewed)
		}
	}
}
