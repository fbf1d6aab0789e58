package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Requests for simulated pods are rejected with the reason.
func TestSimulatedPodLimits(t *testing.T) {
	s := &Server{}
	n := &Node{Name: "s1", Pods: func() []*corev1.Pod {
		return []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "calm"}}}
	}}
	for want, ask := range map[string]func(http.ResponseWriter, *http.Request, *Node){
		"writes no logs": s.logs, "nothing can be run in it or attached to": s.exec, "nothing in it listens at a port": s.portForward,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("namespace", "default")
		r.SetPathValue("pod", "calm")
		if ask(w, r, n); w.Code != http.StatusBadRequest || !strings.HasSuffix(w.Body.String(), `is simulated by node "s1": it has no processes, and `+want) {
			t.Errorf("%d %s, want %q", w.Code, w.Body, want)
		}
	}
}
