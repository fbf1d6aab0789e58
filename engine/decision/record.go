package decision

// Outcome is the outcome of a scheduling attempt.
type Outcome uint8

// The outcomes.
const (
	Scheduled  Outcome = iota
	Infeasible         // no node fits
	Gated              // a PreEnqueue plugin keeps the pod out of the queue
	Ignored            // the pod has finished, or another scheduler name
	Skipped            // the pod is terminating
	Errored            // a plugin failed
)

// String returns the name of the outcome.
func (o Outcome) String() string {
	return [...]string{"scheduled", "unschedulable", "gated", "ignored", "skipped", "error"}[o]
}

// Verdict is the result of the filter plugins on a node: the plugin that rejected it, the
// code and the reasons. The zero Verdict is success.
type Verdict struct {
	Plugin  Plugin
	Code    Code
	Reasons []Reason
}

// IsSuccess reports whether no plugin rejected the node.
func (v *Verdict) IsSuccess() bool { return v.Code == Success }

// Record is a complete decision with the verdict and the scores of every node. The
// reference evaluator creates it, at a cost proportional to the size of the cluster.
type Record struct {
	Pod      string // namespace/name
	UID      string
	Revision uint64 // revision of the cluster state
	Profile  string
	Outcome  Outcome
	Error    string // if Errored

	PreEnqueue *Verdict // if Gated
	PreFilter  *Verdict // set if a PreFilter plugin rejected all nodes; Nodes is empty then
	// HasPreFilterNodes is set if PreFilter limited the search to PreFilterNodes, which may be
	// empty.
	HasPreFilterNodes bool
	// PreFilterPlugins are the plugins that kube-scheduler names as having limited the search,
	// sorted, including the one that rejected the nominated node. Empty means NodeAffinity
	// alone.
	PreFilterPlugins string
	PreFilterNodes   []string
	// NominatedFirst is set if the nominated node fits and was selected without filtering
	// other nodes. Nodes holds only that node.
	NominatedFirst bool
	// ReservedFirst is set if a node that a Reserve Hold reserves for the pod fits and was
	// selected in the same way.
	ReservedFirst bool

	Nodes  []NodeRecord // sorted by name
	Top    []string     // names of the nodes with the highest total, sorted
	Choice string       // the selected node, after tie breaking
	// UnschedulablePlugins are the plugins that rejected nodes.
	UnschedulablePlugins PluginSet
}

// NodeRecord is the verdict and the scores of one node.
type NodeRecord struct {
	Name    string
	Verdict Verdict
	Scores  []Score // set for feasible nodes, in plugin order, without plugins that did not score
	Total   int64   // sum of Scores
}

// Score is the score of a plugin on a node: normalized to 0 to 100 and multiplied by the
// plugin's weight.
type Score struct {
	Plugin Plugin
	Points int64
}

// Summary is the result of every decision. Its size does not depend on the cluster's.
type Summary struct {
	Outcome      Outcome
	Error        string
	Choice       string        // node name, if Scheduled
	Total        int64         // total score of the node, if Scheduled
	Feasible     int           // nodes that fit
	Nodes        int           // nodes in the cluster
	Verdict      *Verdict      // verdict of PreEnqueue or PreFilter, if one of them ended the attempt
	ReasonCounts []ReasonCount // number of nodes by plugin and reason, if Infeasible
	// Resolvable is the number of nodes that rejected the pod with code Unschedulable, so that
	// removing pods may make the pod schedulable. Set if Infeasible.
	Resolvable           int
	UnschedulablePlugins PluginSet
	Revision             uint64
	// Preemption is the result of preemption; nil if it was not tried.
	Preemption *Preemption
}

// ReasonCount is the number of nodes that were rejected for a reason.
type ReasonCount struct {
	Plugin Plugin
	Code   Code
	Reason Reason // Kind and Subject only
	Nodes  int
}
