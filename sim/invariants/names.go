package invariants

// All are the names and descriptions of the invariants.
var All = map[string]string{
	"NeverMoves":               "a bound pod stays on its node",
	"BoundOnce":                "a pod is not bound to a second node while the first bind may still succeed",
	"NodeCapacity":             "the pods bound to a node do not exceed its allocatable resources",
	"BudgetRespected":          "no displacement that respects budgets exceeds one",
	"BudgetEntries":            "a pod displaced with respect to budgets has an entry in each of its budgets",
	"DebitRefunded":            "the debit of a displacement that fails is refunded, unless a fault or a kill prevents it",
	"DeletesObserved":          "a controller does not delete a pod that replaced the one in its cache",
	"DisplacedOnce":            "a displaced pod has the condition, one record event, and is displaced once",
	"LowerVictims":             "a victim's priority is below its preemptor's",
	"NominatedCapacity":        "capacity of a nominated pod is not given to a pod of lower priority",
	"PendingTracked":           "a pending pod is queued or being scheduled",
	"NoBusyLoop":               "the scheduler does not loop without time passing",
	"StateEqualsStore":         "the scheduler's state equals the store when nothing is in flight",
	"Liveness":                 "when settled, controllers finish their work: replicas, budget status, records, evictions, drains",
	"NoPendingPodFits":         "when settled, no pending pod would fit",
	"NoPendingPodCouldPreempt": "when settled, no pending pod could preempt",
}
