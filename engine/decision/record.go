package decision

// Outcome is how an attempt ended.
type Outcome uint8

// The outcomes of conformance/scheduling.
const (
	Scheduled  Outcome = iota
	Infeasible         // "unschedulable"
	Gated
	Ignored
	Skipped
	Errored
)

// String is the outcome's word.
func (o Outcome) String() string {
	return [...]string{"scheduled", "unschedulable", "gated", "ignored", "skipped", "error"}[o]
}

// Verdict is a rejection: by which rule, curable by removing pods or not, why.
// The zero Verdict is "fits".
type Verdict struct {
	Plugin  Plugin
	Code    Code
	Reasons []Reason
}

// IsSuccess says that nothing was rejected.
func (v *Verdict) IsSuccess() bool { return v.Code == Success }

// Record is a whole decision: every node's verdict and scores. The plain path
// makes it; it costs time and memory in the size of the cluster.
type Record struct {
	Pod      string // namespace/name
	UID      string
	Revision uint64 // of the cluster state that it was made on
	Profile  string
	Outcome  Outcome
	Error    string // when Errored

	PreEnqueue *Verdict // when Gated
	PreFilter  *Verdict // refused all nodes at once; Nodes is empty then
	// HasPreFilterNodes: PreFilter limited the search to PreFilterNodes (maybe none).
	HasPreFilterNodes bool
	// PreFilterPlugins names the rules that kube-scheduler says narrowed the search, sorted: the
	// one that refused the nominated node is among them. Empty: node affinity alone.
	PreFilterPlugins string
	PreFilterNodes   []string
	// NominatedFirst: the nominated node passed and was taken without looking at
	// others; Nodes holds only that one.
	NominatedFirst bool
	// ReservedFirst: a node that a Hold reserves for the pod passed and was taken likewise.
	ReservedFirst bool

	Nodes  []NodeRecord // in the order of node names
	Top    []string     // names of the nodes with the highest total, sorted
	Choice string       // the one taken, by the tie rule
	// UnschedulablePlugins are the rules that rejected, for the queue.
	UnschedulablePlugins PluginSet
}

// NodeRecord is one node's part of a Record.
type NodeRecord struct {
	Name    string
	Verdict Verdict
	Scores  []Score // of feasible nodes, in rule order; rules that had nothing to score are absent
	Total   int64
}

// Score is a rule's points on a node, normalised to 0..100 and times weight.
type Score struct {
	Plugin Plugin
	Points int64
}

// Summary is what a decision leaves behind at a cost independent of the
// cluster's size.
type Summary struct {
	Outcome      Outcome
	Error        string
	Choice       string // node name when Scheduled
	Total        int64
	Feasible     int
	Nodes        int           // nodes in the cluster
	Verdict      *Verdict      // PreEnqueue's or PreFilter's, if one of them ended it
	ReasonCounts []ReasonCount // nodes per rule and reason, when Infeasible
	// Resolvable is how many nodes rejected the pod, but not for good: fewer pods there
	// might help. Set when Infeasible.
	Resolvable           int
	UnschedulablePlugins PluginSet
	Revision             uint64
	// Preemption is what was tried for an Infeasible pod; nil when nothing was.
	Preemption *Preemption
}

// ReasonCount is how many nodes were rejected with a reason.
type ReasonCount struct {
	Plugin Plugin
	Code   Code
	Reason Reason // Why and Subject only
	Nodes  int
}
