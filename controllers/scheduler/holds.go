package scheduler

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/recording"
)

// watchHolds makes the scheduler honor Holds while the API serves them and this user may read them. It logs when
// that is not the case.
func (s *scheduler) watchHolds() error {
	client, err := v1alpha1.NewClient(clientConfig(s.o.Config))
	if err != nil {
		return fmt.Errorf("creating the client for Holds: %w", err)
	}
	gauge := s.metrics.registerHoldsServed()
	s.source.WatchHolds(client)
	s.source.OnServed(func(kind string, served bool) {
		if kind != v1alpha1.HoldsResource {
			return
		}
		s.holdsServed.Store(served)
		s.o.Inputs.Observe(s.clock.Now(), &recording.HoldSupport{Honored: served})
		if served {
			gauge.Set(1)
			return
		}
		gauge.Set(0)
		s.log.Info("Holds are not served or not readable; to enable them apply deploy/hold-crd.yaml and the role in deploy/scheduler.yaml")
	})
	return nil
}

// registerHoldsServed registers and returns the gauge that exposes whether Holds are served.
func (m *metrics) registerHoldsServed() prometheus.Gauge {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_scheduler_holds_served",
		Help: "1 if Hold objects are served and honored, 0 if they are not or if it is not known yet."})
	m.registry.MustRegister(gauge)
	return gauge
}
