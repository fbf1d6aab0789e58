package descheduling

// Strategy proposes pods to evict.
type Strategy interface {
	// Name returns the plugin name used in policies.
	Name() string
	// Run proposes candidates with Round.Evict until none remains or a limit ends it. It must not
	// keep state: a strategy may be part of several runs.
	Run(*Round)
}

// MetricsUser is implemented by strategies that can read measured usage.
type MetricsUser interface {
	// UsesMetrics reports whether the strategy reads Snapshot.Usage as configured.
	UsesMetrics() bool
}

// Candidate is a pod that a strategy proposes to evict.
type Candidate struct {
	Pod  *Pod
	Node *Node
	// Reason returns the reason of the eviction for users. It includes numbers.
	Reason func() string
	// Gain returns the improvement of the strategy's goal if the pod moves to a node, given the
	// moves so far. Nil means that any other node is an improvement.
	Gain func(to *Node) Gain
	// Cleanup marks a finished pod, which needs no other node.
	Cleanup bool
}

// Gain is the strategy's metric before and after a move; lower is better.
type Gain struct {
	Before, After int64
	// Metric names what is measured, such as "copies on the node".
	Metric string
}

// Improves reports whether the metric decreases.
func (g Gain) Improves() bool { return g.After < g.Before }

// Outcome is the result of proposing a candidate.
type Outcome uint8

// The outcomes. A namespace limit does not end a strategy, a node limit ends its work on the
// node, and the total limit ends the strategy.
const (
	Accepted Outcome = iota // evicted, or planned
	Refused                 // by the API server or the planner
	NodeLimit
	NamespaceLimit
	TotalLimit
)

// String returns the outcome as text; for limits, the text that the Kubernetes descheduler
// uses in its metrics.
func (o Outcome) String() string {
	return [...]string{"accepted", "refused", "maximum number of evicted pods per node reached", "maximum number of evicted pods per namespace reached",
		"maximum number of evicted pods per a descheduling cycle reached"}[o]
}
