package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// What became of disruption budgets, the values of the label budgets.
const (
	budgetsObeyed       = "obeyed"    // none was passed over; there may have been none
	budgetsOverruled    = "overruled" // one did not allow it
	budgetsNotConsulted = "unasked"   // the cause asks none
)

// Displacements counts displaced pods.
type Displacements struct{ *prometheus.CounterVec }

// NewDisplacements is a count of nothing.
func NewDisplacements() *Displacements {
	d := &Displacements{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "berth_displacements_total",
		Help: "Number of pods that were displaced, by the cause, and by what became of disruption budgets: obeyed, overruled or, by causes that do not heed them, unasked."},
		[]string{"cause", "budgets"})}
	for _, c := range displacement.Causes() {
		d.WithLabelValues(c.String(), defaultBudgetOutcome(c))
	}
	return d
}

// Count counts one; for actuate.Displacer, which calls it once a displacement.
func (d *Displacements) Count(rec *journal.Displacement) {
	c, _ := displacement.ParseCause(rec.Cause)
	what := defaultBudgetOutcome(c)
	for i := range rec.Budgets {
		if rec.Budgets[i].Overruled {
			what = budgetsOverruled
		}
	}
	d.WithLabelValues(c.String(), what).Inc()
}

// defaultBudgetOutcome is what becomes of budgets when none is overruled.
func defaultBudgetOutcome(c displacement.Cause) string {
	if c.Policy().ObeyingTries == 0 {
		return budgetsNotConsulted
	}
	return budgetsObeyed
}
