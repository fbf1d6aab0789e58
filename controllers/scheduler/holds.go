package scheduler

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/api/v1alpha1"
)

// watchHolds has Holds honoured where the API serves them, and says where it does not.
func (s *scheduler) watchHolds() error {
	client, err := v1alpha1.NewClient(clientConfig(s.o.Config))
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_scheduler_holds_served",
		Help: "1 where Hold objects are served and honoured, 0 where they are not, or it is not known yet."})
	s.metrics.registry.MustRegister(gauge)
	s.source.WatchHolds(client)
	s.source.OnServed(func(kind string, served bool) {
		if kind != v1alpha1.HoldsResource {
			return
		}
		s.holdsServed.Store(served)
		if served {
			gauge.Set(1)
			return
		}
		gauge.Set(0)
		s.log.Info("no holds: the API does not serve them, or not to this user (kubectl apply -f deploy/hold-crd.yaml and the role in deploy/scheduler.yaml would change that)")
	})
	return nil
}
