package model

// Approximate sizes of values without their strings and lists, in bytes.
const (
	specBytes   = 768
	itemBytes   = 80 // an element of a list, such as a toleration or an affinity term
	stringBytes = 16
)

// Bytes returns the approximate memory of a specification, for bounds of caches.
func (s *PodSpec) Bytes() int {
	n := specBytes + s.NodeSelector.Labels.Bytes()
	for i := range s.NodeSelector.Required {
		n += s.NodeSelector.Required[i].bytes()
	}
	for i := range s.NodeSelector.Preferred {
		n += s.NodeSelector.Preferred[i].Term.bytes()
	}
	for i := range s.Tolerations {
		n += itemBytes + len(s.Tolerations[i].Key) + len(s.Tolerations[i].Value)
	}
	for _, terms := range [][]PodAffinityTerm{s.Affinity, s.AntiAffinity} {
		for i := range terms {
			n += terms[i].bytes()
		}
	}
	for _, terms := range [][]WeightedPodAffinityTerm{s.PreferredAffinity, s.PreferredAntiAffinity} {
		for i := range terms {
			n += terms[i].Term.bytes()
		}
	}
	for i := range s.Spread {
		c := &s.Spread[i]
		n += itemBytes + len(c.TopologyKey) + c.Selector.Bytes() + stringsBytes(c.MatchLabelKeys)
	}
	return n + s.otherBytes()
}

// otherBytes returns the part of Bytes that is small in most pods.
func (s *PodSpec) otherBytes() int {
	n := stringsBytes(s.Images) + stringsBytes(s.Gates) + stringsBytes(s.Features) + len(s.SchedulerName) + len(s.SchedulingGroup)
	for _, scalars := range [][]Scalar{s.Requests.Scalars, s.Scoring.Scalars} {
		for i := range scalars {
			n += itemBytes + len(scalars[i].Name)
		}
	}
	for i := range s.Ports {
		n += itemBytes + len(s.Ports[i].IP)
	}
	for i := range s.Claims {
		n += itemBytes + len(s.Claims[i].Volume) + len(s.Claims[i].Claim)
	}
	for i := range s.Disks {
		n += itemBytes + len(s.Disks[i].ID) + stringsBytes(s.Disks[i].Monitors)
	}
	for i := range s.Inline {
		n += itemBytes + len(s.Inline[i].Driver) + len(s.Inline[i].Handle)
	}
	for i := range s.ResourceClaims {
		c := &s.ResourceClaims[i]
		n += itemBytes + len(c.Name) + len(c.Claim) + len(c.Template)
	}
	for i := range s.ParseErrors {
		n += itemBytes + len(s.ParseErrors[i].Path) + len(s.ParseErrors[i].Message)
	}
	return n
}

func (t *NodeSelectorTerm) bytes() int {
	return itemBytes + requirementBytes(t.Labels) + requirementBytes(t.Fields)
}

func (t *PodAffinityTerm) bytes() int {
	return itemBytes + len(t.TopologyKey) + stringsBytes(t.Namespaces) + t.Selector.Bytes() + t.NamespaceSelector.Bytes()
}

// Bytes returns the approximate memory of a selector.
func (s *Selector) Bytes() int {
	if s == nil {
		return 0
	}
	return itemBytes + requirementBytes(s.Requirements)
}

func requirementBytes(rs []Requirement) (n int) {
	for i := range rs {
		n += itemBytes + len(rs[i].Key) + stringsBytes(rs[i].Values)
	}
	return n
}

// Bytes returns the approximate memory of labels.
func (l Labels) Bytes() (n int) {
	for i := range l {
		n += itemBytes + len(l[i].Key) + len(l[i].Value)
	}
	return n
}

func stringsBytes(list []string) (n int) {
	for _, s := range list {
		n += stringBytes + len(s)
	}
	return n
}
