package scheduler

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/api/v1alpha1"
)

// readHolds has Holds honoured where the API serves them, and says where it does not.
func (s *shell) readHolds() error {
	client, err := v1alpha1.NewClient(wire(s.o.Config))
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_scheduler_holds_served",
		Help: "1 where Hold objects are served and honoured, 0 where they are not, or it is not known yet."})
	s.metrics.registry.MustRegister(gauge)
	s.feed.Holds(client)
	s.feed.Tell(func(kind string, served bool) {
		if kind != v1alpha1.Holds {
			return
		}
		s.holds.Store(served)
		if served {
			gauge.Set(1)
			return
		}
		gauge.Set(0)
		s.log.Info("no holds: the API does not serve them, or not to this user (kubectl apply -f deploy/hold-crd.yaml and the role in deploy/scheduler.yaml would change that)")
	})
	return nil
}
