package displacer

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

var (
	testTime = time.Unix(5000, 0)
	pods     = schema.GroupResource{Resource: "pods"}
)

func lowPriorityPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}, Spec: corev1.PodSpec{NodeName: "n1"}}
}

func budgetAllowing(name string, n int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: n}}
}

// recordedRequests formats the writes of a client.
func recordedRequests(client *fake.Clientset) string {
	var out []string
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			name := ""
			if n, ok := a.(interface{ GetName() string }); ok {
				name = ":" + n.GetName()
			}
			out = append(out, a.GetVerb()+":"+strings.TrimSuffix(a.GetResource().Resource+"/"+a.GetSubresource(), "/")+name)
		}
	}
	return strings.Join(out, " ")
}
