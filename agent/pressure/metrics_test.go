//go:build linux

package pressure_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

// metricValue returns the value of a metric, or the count of a histogram.
func metricValue(t *testing.T, m *pressure.Metrics, name, label string) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(m)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			if f.GetName() == name && (label == "" || len(metric.GetLabel()) > 0 && metric.GetLabel()[0].GetValue() == label) {
				// The value is 0 for other types.
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("no metric %s of %q, want one", name, label)
	return 0
}

func TestEvictionMetrics(t *testing.T) {
	n := fixtures.NewForTest(t, 256*mi, 600)
	m := pressure.NewMetrics()
	if v := metricValue(t, m, "kubelet_evictions", "memory.available"); v != 0 {
		t.Errorf("%v evictions at the start, want 0", v)
	}
	watch(t, n, hardThreshold(100*mi), func(o *pressure.Options) { o.Metrics = m })
	hog := start(t, n, fixtures.Spec{Name: "hog", Args: []string{"-memory=4Gi", "-memory-rate=400Mi"}})
	<-hog.Exited()
	waitUntil(t, "the eviction is counted", func() bool { return metricValue(t, m, "kubelet_evictions", "memory.available") == 1 })
	for name, label := range map[string]string{
		"kubelet_eviction_stats_age_seconds": "memory.available", "berth_pressure_reaction_seconds": "",
		"berth_pressure_syncs_total": "alarm", "berth_pressure_looks_total": "alarm", "berth_pressure_available": "memory.available",
	} {
		if v := metricValue(t, m, name, label); v <= 0 {
			t.Errorf("metric %s of %q is %v, want more than 0", name, label, v)
		}
	}
	if v := metricValue(t, m, "kubelet_evictions", "pid.available"); v != 0 {
		t.Errorf("%v evictions for pid.available, want 0", v)
	}
}
