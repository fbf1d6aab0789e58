package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/internal/journal"
)

// What became of disruption budgets, the values of the label budgets.
const (
	obeyed    = "obeyed"    // none was passed over; there may have been none
	overruled = "overruled" // one did not allow it
	unasked   = "unasked"   // the cause asks none
)

// Displacements counts displaced pods.
type Displacements struct{ *prometheus.CounterVec }

// NewDisplacements is a count of nothing.
func NewDisplacements() *Displacements {
	d := &Displacements{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "berth_displacements_total",
		Help: "Number of pods that were displaced, by the cause, and by what became of disruption budgets: obeyed, overruled or, by causes that do not heed them, unasked."},
		[]string{"cause", "budgets"})}
	for _, c := range displace.Causes() {
		d.WithLabelValues(c.String(), usual(c))
	}
	return d
}

// Count counts one; for actuate.Displacer, which calls it once a displacement.
func (d *Displacements) Count(rec *journal.Displacement) {
	c, _ := displace.CauseOf(rec.Cause)
	what := usual(c)
	for i := range rec.Budgets {
		if rec.Budgets[i].Overruled {
			what = overruled
		}
	}
	d.WithLabelValues(c.String(), what).Inc()
}

// usual is what becomes of budgets when none is overruled.
func usual(c displace.Cause) string {
	if c.Policy().Obeying == 0 {
		return unasked
	}
	return obeyed
}
