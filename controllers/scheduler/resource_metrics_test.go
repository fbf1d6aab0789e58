package scheduler

import (
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestResourceMetrics(t *testing.T) {
	priority := int32(7)
	pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: corev1.PodStatus{Phase: phase},
			Spec: corev1.PodSpec{NodeName: "n1", SchedulerName: "default-scheduler", Priority: &priority, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), "example.com/x": resource.MustParse("2"), corev1.ResourceEphemeralStorage: resource.MustParse("0")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ki")}}}}}}
	}
	s := &scheduler{client: fake.NewClientset(pod("p", corev1.PodRunning), pod("q", corev1.PodFailed))}
	w := httptest.NewRecorder()
	s.serveResourceMetrics(w, httptest.NewRequest("GET", "/metrics/resources", nil))
	body := w.Body.String()
	labels := `namespace="ns",node="n1",pod="p",priority="7",`
	for _, want := range []string{
		`kube_pod_resource_request{` + labels + `resource="cpu",scheduler="default-scheduler",unit="cores"} 0.25`,
		`kube_pod_resource_request{` + labels + `resource="example.com/x",scheduler="default-scheduler",unit="integer"} 2`,
		`kube_pod_resource_limit{` + labels + `resource="memory",scheduler="default-scheduler",unit="bytes"} 1024`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, body)
		}
	}
	if n := strings.Count(body, "\nkube_"); n != 3 {
		t.Errorf("%d metrics, want 3:\n%s", n, body)
	}
}
