package model

// NodeSelector is what a pod demands and prefers of a node's labels and name.
type NodeSelector struct {
	// Labels is spec.nodeSelector; all must be there.
	Labels Labels
	// HasRequired: requiredDuringScheduling is given. The terms are alternatives;
	// with none left over nothing matches.
	HasRequired bool
	Required    []NodeSelectorTerm
	Preferred   []PreferredSchedulingTerm
}

// NodeSelectorTerm is a conjunction. A term without conditions matches nothing, nor
// does one that was malformed.
type NodeSelectorTerm struct {
	Labels    []Requirement
	Fields    []Requirement // metadata.name only
	Malformed bool          // malformed: matches nothing when required
}

// Matches says whether a node meets all conditions of the term.
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

// PreferredSchedulingTerm is a preference with its weight, 1 to 100.
type PreferredSchedulingTerm struct {
	Weight int32
	Term   NodeSelectorTerm
}

// PodAffinityTerm is an inter-pod affinity term, with matchLabelKeys as the API server
// has merged them.
type PodAffinityTerm struct {
	TopologyKey string
	Selector    *Selector // nil matches no pod
	Namespaces  []string  // sorted; the pod's own when the term names none
	// NamespaceSelector adds the namespaces whose labels it matches; nil adds none.
	NamespaceSelector *Selector
}

// WeightedPodAffinityTerm is a preferred PodTerm with its weight, 1 to 100.
type WeightedPodAffinityTerm struct {
	Weight int32
	Term   PodAffinityTerm
}

// SpreadConstraint is a topology spread constraint.
type SpreadConstraint struct {
	TopologyKey string
	MaxSkew     int32
	MinDomains  int32 // 1 when not given
	Hard        bool  // DoNotSchedule
	Selector    *Selector
	// MatchLabelKeys: the pod's own values of these keys are demanded, too.
	MatchLabelKeys []string
	// IgnoreAffinity: nodes that the pod's node affinity refuses count as well.
	IgnoreAffinity bool
	// HonorTaints: nodes whose taints the pod does not tolerate do not count.
	HonorTaints bool
}
