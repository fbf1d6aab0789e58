package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// TestExtendedResourceInCapacity checks an extended resource that an administrator advertises with a
// patch of the node's capacity.
func TestExtendedResourceInCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		var s scriptedRuntime
		defer startScriptedAgent(t, api, &s)()
		patch := func(patch string) {
			t.Helper()
			if _, err := api.CoreV1().Nodes().Patch(t.Context(), "n0", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when, capacity, allocatable string) {
			t.Helper()
			n, err := api.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c, a := n.Status.Capacity["example.com/dongle"], n.Status.Allocatable["example.com/dongle"]
			if c.String() != capacity || a.String() != allocatable {
				t.Errorf("%s: capacity %s, allocatable %s, want %s and %s", when, &c, &a, capacity, allocatable)
			}
		}
		patch(`{"status":{"capacity":{"example.com/dongle":"4"}}}`)
		waitBriefly()
		check("advertised", "4", "4")
		time.Sleep(time.Hour)
		waitBriefly()
		check("after status updates", "4", "4")
		requestDongles := func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"example.com/dongle": resource.MustParse("3")}
		}
		create(t, api, pod("p", requestDongles))
		waitBriefly()
		create(t, api, pod("q", requestDongles))
		waitBriefly()
		if p, q := get(t, api, "p").Status, get(t, api, "q").Status; p.Phase == corev1.PodFailed || q.Reason != "OutOfexample.com/dongle" {
			t.Errorf("p %s %s, q %s %s, want only q rejected", p.Phase, p.Reason, q.Phase, q.Reason)
		}
		patch(`{"status":{"capacity":{"example.com/dongle":"2"}}}`)
		waitBriefly()
		check("changed", "2", "2")
		patch(`{"status":{"capacity":{"example.com/dongle":null}}}`)
		waitBriefly()
		check("removed", "0", "0")
	})
}
