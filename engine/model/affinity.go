package model

// NodeSelector lists what a pod requires and prefers of a node's labels and name.
type NodeSelector struct {
	// Labels is spec.nodeSelector; a node must have all of them.
	Labels Labels
	// HasRequired is set if requiredDuringSchedulingIgnoredDuringExecution is set. A node must
	// match one of the Required terms; no terms match no node.
	HasRequired bool
	Required    []NodeSelectorTerm
	Preferred   []PreferredSchedulingTerm
}

// NodeSelectorTerm is a conjunction of requirements. A term without requirements and a
// malformed one match no node.
type NodeSelectorTerm struct {
	Labels    []Requirement
	Fields    []Requirement // metadata.name only
	Malformed bool          // matches no node if required
}

// Matches reports whether a node meets all requirements of the term.
func (t *NodeSelectorTerm) Matches(labels Labels, name string) bool {
	if t.Malformed || len(t.Labels)+len(t.Fields) == 0 {
		return false
	}
	for i := range t.Labels {
		if !t.Labels[i].Matches(labels) {
			return false
		}
	}
	if len(t.Fields) == 0 {
		return true
	}
	fields := Labels{{Key: "metadata.name", Value: name}}
	for i := range t.Fields {
		if !t.Fields[i].Matches(fields) {
			return false
		}
	}
	return true
}

// PreferredSchedulingTerm is a preferred node selector term with its weight, 1 to 100.
type PreferredSchedulingTerm struct {
	Weight int32
	Term   NodeSelectorTerm
}

// PodAffinityTerm is an inter-pod affinity term; the API server has already merged
// matchLabelKeys into its selector.
type PodAffinityTerm struct {
	TopologyKey string
	Selector    *Selector // nil matches no pod
	Namespaces  []string  // sorted; the namespace of the pod if the term has none
	// NamespaceSelector adds the namespaces whose labels it matches; nil adds none.
	NamespaceSelector *Selector
}

// WeightedPodAffinityTerm is a preferred PodAffinityTerm with its weight, 1 to 100.
type WeightedPodAffinityTerm struct {
	Weight int32
	Term   PodAffinityTerm
}

// SpreadConstraint is a topology spread constraint.
type SpreadConstraint struct {
	TopologyKey string
	MaxSkew     int32
	MinDomains  int32     // 1 if not set
	Hard        bool      // DoNotSchedule
	Selector    *Selector // nil matches no pod, unless MatchLabelKeys are set
	// MatchLabelKeys are keys whose values in the pod's labels are added to the selector.
	MatchLabelKeys []string
	// IgnoreAffinity includes nodes that do not match the pod's node affinity
	// (nodeAffinityPolicy: Ignore).
	IgnoreAffinity bool
	// HonorTaints excludes nodes whose taints the pod does not tolerate
	// (nodeTaintsPolicy: Honor).
	HonorTaints bool
}
