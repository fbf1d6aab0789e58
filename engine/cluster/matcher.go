package cluster

import (
	"slices"
	"strconv"

	"github.com/berthproject/berth/engine/model"
)

// Matcher selects the pods to count.
type Matcher struct {
	// Terms must all match.
	Terms []MatchTerm
	// SkipDeleting excludes terminating pods.
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

// termMatchesExisting reports whether a term of an incoming pod matches assigned pods of a
// class. As in kube-scheduler, a namespace selector that matches empty labels selects all
// namespaces, known or not.
func (x *Index) termMatchesExisting(t *MatchTerm, cl *PodClass) bool {
	if !slices.Contains(t.Namespaces, cl.Namespace) && !t.NamespaceSelector.Matches(nil) {
		labels, ok := x.state.NamespaceLabels(cl.Namespace)
		if !ok || !t.NamespaceSelector.Matches(labels) {
			return false
		}
	}
	return t.Selector.Matches(cl.Labels)
}

// termMatchesIncoming reports whether a term of an assigned pod matches incoming pods of a
// class. An unknown namespace has no labels.
func (x *Index) termMatchesIncoming(t *MatchTerm, cl *PodClass) bool {
	if !slices.Contains(t.Namespaces, cl.Namespace) {
		labels, _ := x.state.NamespaceLabels(cl.Namespace)
		if !t.NamespaceSelector.Matches(labels) {
			return false
		}
	}
	return t.Selector.Matches(cl.Labels)
}

// trackTerm makes pod classes distinguish the labels that a term reads.
func (x *Index) trackTerm(t *MatchTerm) {
	x.readsNamespaces = x.readsNamespaces || t.NamespaceSelector != nil
	x.TrackSelector(t.Selector)
}

// AppendSelector appends a key of a selector: equal keys mean equal selectors.
func AppendSelector(b []byte, s *model.Selector) []byte {
	if s == nil {
		return append(b, '-')
	}
	return appendRequirements(append(b, '('), s.Requirements)
}

func appendRequirements(b []byte, rs []model.Requirement) []byte {
	for i := range rs {
		r := &rs[i]
		b = AppendText(b, r.Key)
		b = append(b, '0'+byte(r.Op))
		for _, v := range r.Values {
			b = AppendText(b, v)
		}
		b = append(b, ';')
	}
	return append(b, ')')
}

// AppendNodeTerm appends a key of a node selector term.
func AppendNodeTerm(b []byte, t *model.NodeSelectorTerm) []byte {
	b = strconv.AppendBool(b, t.Malformed)
	return appendRequirements(appendRequirements(b, t.Labels), t.Fields)
}

// AppendTerm appends a key of a MatchTerm.
func AppendTerm(b []byte, t *MatchTerm) []byte {
	for _, ns := range t.Namespaces {
		b = AppendText(b, ns)
	}
	b = AppendSelector(append(b, '|'), t.NamespaceSelector)
	return AppendSelector(b, t.Selector)
}
