package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSimulatedPodLimits checks that requests for simulated pods are rejected with the reason.
func TestSimulatedPodLimits(t *testing.T) {
	s := &Server{}
	n := &Node{Name: "s1", Pods: func() []*corev1.Pod {
		return []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "simulated"}}}
	}}
	for want, request := range map[string]func(http.ResponseWriter, *http.Request, *Node){
		"it has no logs": s.logs, "exec and attach are not supported": s.exec, "port-forward is not supported": s.portForward,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("namespace", "default")
		r.SetPathValue("pod", "simulated")
		if request(w, r, n); w.Code != http.StatusBadRequest || !strings.HasSuffix(w.Body.String(), `on node "s1" is simulated: `+want) {
			t.Errorf("status %d, %q, want 400 with %q", w.Code, w.Body, want)
		}
	}
}
