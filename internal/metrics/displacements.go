package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// Values of the label budgets of berth_displacements_total.
const (
	budgetsObeyed       = "obeyed"       // no budget was overruled; there may have been none
	budgetsOverruled    = "overruled"    // a budget did not allow the displacement
	budgetsNotConsulted = "notConsulted" // the cause does not consult budgets
)

// Displacements counts displacements.
type Displacements struct{ *prometheus.CounterVec }

// NewDisplacements returns a counter with all causes at zero.
func NewDisplacements() *Displacements {
	d := &Displacements{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "berth_displacements_total",
		Help: "Number of displaced pods, by cause and by the effect of disruption budgets: obeyed, overruled, or notConsulted for causes that do not consult them."},
		[]string{"cause", "budgets"})}
	for _, c := range displacement.Causes() {
		d.WithLabelValues(c.String(), defaultBudgetOutcome(c))
	}
	return d
}

// Count counts one displacement. It is the OnDisplaced function of displacer.Displacer.
func (d *Displacements) Count(rec *journal.Displacement) {
	c, _ := displacement.ParseCause(rec.Cause) // other causes count as Unknown
	outcome := defaultBudgetOutcome(c)
	for i := range rec.Budgets {
		if rec.Budgets[i].Overruled {
			outcome = budgetsOverruled
		}
	}
	d.WithLabelValues(c.String(), outcome).Inc()
}

// defaultBudgetOutcome returns the value of the label budgets if no budget was overruled.
func defaultBudgetOutcome(c displacement.Cause) string {
	if c.Policy().ObeyingAttempts == 0 {
		return budgetsNotConsulted
	}
	return budgetsObeyed
}
