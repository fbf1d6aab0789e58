package cluster

import (
	"slices"
	"strconv"

	"github.com/berthproject/berth/engine/model"
)

// Matcher says which pods count.
type Matcher struct {
	// Terms must all match.
	Terms []MatchTerm
	// SkipDeleting: pods that are being deleted do not count.
	SkipDeleting bool
}

// MatchTerm matches pods by namespace and labels.
type MatchTerm struct {
	Namespaces []string
	// NamespaceSelector adds the namespaces whose labels it matches; nil adds none.
	NamespaceSelector *model.Selector
	Selector          *model.Selector // nil matches no pod
}

func (x *Index) matches(m *Matcher, cl *PodClass) bool {
	for i := range m.Terms {
		if !x.termMatchesExisting(&m.Terms[i], cl) {
			return false
		}
	}
	return true
}

// termMatchesExisting says whether pods of a class count for a term of a pod that comes. A
// selector that namespaces without labels would meet selects all of them, known or
// not, as kube-scheduler was seen to.
func (x *Index) termMatchesExisting(t *MatchTerm, cl *PodClass) bool {
	if !slices.Contains(t.Namespaces, cl.Namespace) && !t.NamespaceSelector.Matches(nil) {
		labels, known := x.state.NamespaceLabels(cl.Namespace)
		if !known || !t.NamespaceSelector.Matches(labels) {
			return false
		}
	}
	return t.Selector.Matches(cl.Labels)
}

// termMatchesIncoming says whether a term of a pod that is there acts on pods of a class. A
// namespace that is not known has no labels, then.
func (x *Index) termMatchesIncoming(t *MatchTerm, cl *PodClass) bool {
	if !slices.Contains(t.Namespaces, cl.Namespace) {
		labels, _ := x.state.NamespaceLabels(cl.Namespace)
		if !t.NamespaceSelector.Matches(labels) {
			return false
		}
	}
	return t.Selector.Matches(cl.Labels)
}

// trackTerm makes sure that classes tell apart what a term reads.
func (x *Index) trackTerm(t *MatchTerm) {
	x.readsNamespaces = x.readsNamespaces || t.NamespaceSelector != nil
	x.TrackSelector(t.Selector)
}

// AppendSelector appends a selector's identity: equal bytes, equal selectors.
func AppendSelector(b []byte, s *model.Selector) []byte {
	if s == nil {
		return append(b, '-')
	}
	return appendRequirements(append(b, '('), s.Requirements)
}

func appendRequirements(b []byte, rs []model.Requirement) []byte {
	for i := range rs {
		r := &rs[i]
		b = appendText(b, r.Key)
		b = append(b, '0'+byte(r.Op))
		for _, v := range r.Values {
			b = appendText(b, v)
		}
		b = append(b, ';')
	}
	return append(b, ')')
}

// AppendNodeTerm appends a node term's identity.
func AppendNodeTerm(b []byte, t *model.NodeSelectorTerm) []byte {
	b = strconv.AppendBool(b, t.Malformed)
	return appendRequirements(appendRequirements(b, t.Labels), t.Fields)
}

// AppendText appends a string so that no two sequences of strings look alike.
func AppendText(b []byte, s string) []byte { return appendText(b, s) }

// AppendTerm appends a MatchTerm's identity.
func AppendTerm(b []byte, t *MatchTerm) []byte {
	for _, ns := range t.Namespaces {
		b = appendText(b, ns)
	}
	b = AppendSelector(append(b, '|'), t.NamespaceSelector)
	return AppendSelector(b, t.Selector)
}
