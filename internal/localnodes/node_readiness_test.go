package localnodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestDescribeUnreadyNode checks which node is named, and with which reason.
func TestDescribeUnreadyNode(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus, message string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: message}}}}
	}
	api := fake.NewClientset(node("ready", corev1.ConditionTrue, ""), node("other", corev1.ConditionFalse, "not selected"),
		node("offline", corev1.ConditionFalse, "container runtime NetworkReady=false: NetworkPluginNotReady"),
		node("tainted", corev1.ConditionTrue, "", corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}))
	for want, names := range map[string]map[string]bool{
		"node offline is not ready: container runtime NetworkReady=false: NetworkPluginNotReady": {"ready": true, "offline": true},
		"node my_laptop is not registered yet (see the log)":                                     {"ready": true, "my_laptop": true, "offline": true},
		"node tainted is ready but still tainted":                                                {"tainted": true},
		"": {"ready": true},
	} {
		if got := describeUnreadyNode(t.Context(), api, names); got != want {
			t.Errorf("%v: got %q, want %q", names, got, want)
		}
	}
}
