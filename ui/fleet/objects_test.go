package fleet

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestHugeAmountsAreEncoded checks that the quantities of one user's pod do not end the streams of other users.
func TestHugeAmountsAreEncoded(t *testing.T) {
	shown, _ := PodOf(pod("a", "n1", "1e400"))
	node := NodeOf(&corev1.Node{Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"example.com/a": resource.MustParse("1e400")}}})
	for _, value := range []any{shown, node} {
		if _, err := json.Marshal(value); err != nil {
			t.Errorf("encoding %+v: %v", value, err)
		}
	}
}
