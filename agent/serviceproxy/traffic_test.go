package serviceproxy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A pod, the machine and an endpoint itself reach the Service; other ports are refused at once.
func TestClusterIP(t *testing.T) {
	m := newMachine(t)
	client, a, b := m.pod("client"), m.pod("a"), m.pod("b")
	r := newTestRuleset()
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, on("n1", a.ip, "ready"), on("n1", b.ip, "ready")))
	m.commit(r)
	got := m.answers(client, "10.96.7.7:80", 40)
	if got["a"] < 5 || got["b"] < 5 || got["a"]+got["b"] != 40 {
		t.Errorf("answers: %v, want 40 from a and b", got)
	}
	if text, err := m.ask(client, "10.96.7.7:80"); err != nil || !strings.HasSuffix(text, " "+client.ip.String()) {
		t.Errorf("answer %q, %v: want the client's address %s", text, err, client.ip)
	}
	if got := m.answers(nil, "10.96.7.7:80", 10); got["a"]+got["b"] != 10 {
		t.Errorf("from the machine: %v", got)
	}
	if got := m.answers(a, "10.96.7.7:80", 20); got["a"] == 0 || got["a"]+got["b"] != 20 {
		t.Errorf("from an endpoint: %v, want answers of itself, too", got)
	}
	for _, p := range []*testPod{client, nil} {
		if text, err := m.ask(p, "10.96.7.7:81"); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("port 81: %q, %v, want refused", text, err)
		}
	}
}
