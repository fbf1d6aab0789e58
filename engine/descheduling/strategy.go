package descheduling

// Strategy proposes pods that had better leave their nodes.
type Strategy interface {
	// Name is the plugin's in policies.
	Name() string
	// Run tries candidates with Round.Evict, one after another, until none is left or the round says stop.
	// Nothing of a run is kept: a strategy may run in several rounds.
	Run(*Round)
}

// MetricsUser is implemented by strategies that can read measured usage.
type MetricsUser interface {
	// UsesMetrics reports whether the strategy reads Snapshot.Usage as it is configured.
	UsesMetrics() bool
}

// Candidate is a pod that a strategy wants to leave.
type Candidate struct {
	Pod  *Pod
	Node *Node
	// Reason says why, in words with the numbers, for people; called only if somebody asks.
	Reason func() string
	// Gain is how far the strategy's goal gets closer if the pod goes to a node, given what has moved
	// already. Above 0: closer. Nil: any other node that it fits is.
	Gain func(to *Node) Gain
	// Cleanup: the pod takes no room and nothing replaces it; it needs no other place.
	Cleanup bool
}

// Gain is a measure of the strategy's goal before and after a move; less is better.
type Gain struct {
	Before, After int64
	// Metric says what is measured: "copies on the node", "milli-cores above the target", "skew".
	Metric string
}

// Improves says whether the goal gets closer.
func (g Gain) Improves() bool { return g.After < g.Before }

// Outcome is what became of a candidate.
type Outcome uint8

// The outcomes. A namespace's limit does not end a strategy's work, a node's ends its work on the
// node, the total ends it.
const (
	Accepted       Outcome = iota // evicted, or a move of the plan
	Refused                       // by the API server, or by the plan
	NodeLimit                     // the node has lost as many as it may
	NamespaceLimit                // the namespace has
	TotalLimit                    // the round has
)

// String is the outcome in words: of a limit, those that the Kubernetes descheduler counts it by.
func (o Outcome) String() string {
	return [...]string{"went", "refused", "maximum number of evicted pods per node reached", "maximum number of evicted pods per namespace reached",
		"maximum number of evicted pods per a descheduling cycle reached"}[o]
}
