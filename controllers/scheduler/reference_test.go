package scheduler

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	o := DefaultOptions()
	machine, err := o.newMachine()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newScheduler(o, machine, fake.NewClientset(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := s.metrics
	m.registerHoldsServed()
	m.arrivals[arrival{"active", "PodAdd"}], m.cache["nodes"] = 1, 1
	s.rejectionSnapshot.at = time.Now() // recent, so that the loop is not queried
	s.rejectionSnapshot.value = rejections{{rejectedBy: decision.PluginSet(0).With(decision.NodePorts), profile: "default-scheduler"}: 1}
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, m.registry,
		m.attempts, m.duration, m.sli, m.extensionPoints, m.events, m.extenders, m.evaluations.count))
}
