package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const adoptedNode = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"fake-0","annotations":{"kwok.x-k8s.io/node":"fake"},"labels":{"kubernetes.io/arch":"arm64"}},
	"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"10"},"nodeInfo":{"containerRuntimeVersion":"x","kubeletVersion":"fake"}}}`

// TestAdoptedNodes checks that `berth up` simulates a node that a client creates. After a client deletes the node,
// `berth up` must not create it again.
func TestAdoptedNodes(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "1")
	c.mustKubectl("create", "-f", c.write("node.json", adoptedNode))
	c.mustKubectl("wait", "--for=condition=Ready", "node/fake-0", "--timeout=180s")
	c.mustKubectl("run", "p", "--image=x", `--overrides={"spec":{"nodeSelector":{"kubernetes.io/arch":"arm64"}}}`)
	c.mustKubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=180s")
	client := c.client()
	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "fake-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func() error {
		renewed, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "fake-0", metav1.GetOptions{})
		if err == nil && !renewed.Spec.RenewTime.After(lease.Spec.RenewTime.Time) {
			return fmt.Errorf("the Lease has renew time %v, want a later time", renewed.Spec.RenewTime)
		}
		return err
	})
	c.mustKubectl("delete", "node", "fake-0")
	eventually(t, 3*time.Minute, func() error { // pod garbage collection, which first waits 40 s
		_, err := client.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("getting pod p of the deleted node: got error %v, want not found", err)
		}
		return nil
	})
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "fake-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the deleted node: %v, want not found", err)
	}
}
