package scheduler

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/model"
)

// newDebitForbiddenHandler counts and logs budgets that the scheduler must not update, as with
// kube-scheduler's own role. Preemption then works as in kube-scheduler, but other displacers
// count its victims only after their deletion. Each budget is logged once.
func newDebitForbiddenHandler(registry *prometheus.Registry, log *slog.Logger) func(*model.Budget, error) {
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "berth_scheduler_budgets_not_debited_total",
		Help: "Number of times that a disruption budget was not debited for preemption victims, because the update is forbidden."})
	registry.MustRegister(count)
	var mu sync.Mutex
	logged := map[string]bool{}
	return func(b *model.Budget, err error) {
		count.Inc()
		key := b.Namespace + "/" + b.Name
		mu.Lock()
		defer mu.Unlock()
		if logged[key] || len(logged) >= 1000 {
			return
		}
		logged[key] = true
		log.Warn("Disruption budgets are not debited for preemption: the role needs update of poddisruptionbudgets/status, see deploy/scheduler.yaml",
			"budget", key, "err", err)
	}
}
