package cluster

import (
	"strconv"

	"github.com/berthproject/berth/engine/model"
)

// TermKind is the kind of an inter-pod affinity term.
type TermKind uint8

// The kinds.
const (
	RequiredAffinity TermKind = iota
	RequiredAntiAffinity
	PreferredAffinity
	PreferredAntiAffinity
)

// Term is an inter-pod affinity term of assigned pods, with the number of pods that have
// it by domain. It acts on incoming pods that it matches.
type Term struct {
	Kind   TermKind
	Weight int32 // of preferred terms
	Match  MatchTerm
	// DomainCounter counts the pods that have the term, not the pods that it matches.
	DomainCounter
}

// specTerms are the affinity terms of a specification that assigned pods have.
type specTerms struct {
	terms []*Term
	pods  int
}

func hasTerms(s *model.PodSpec) bool {
	return len(s.Affinity)+len(s.AntiAffinity)+len(s.PreferredAffinity)+len(s.PreferredAntiAffinity) > 0
}

// countTerms adds a pod on a node to the counts of its terms, or removes it.
func (x *Index) countTerms(id NodeID, spec *model.PodSpec, sign int32) {
	entry := x.specs[spec]
	if entry == nil {
		entry = &specTerms{terms: x.termsOf(spec)}
		x.specs[spec] = entry
	}
	entry.pods += int(sign)
	for _, t := range entry.terms {
		t.addOnNode(id, sign)
	}
	if entry.pods == 0 {
		delete(x.specs, spec)
	}
}

func (x *Index) termsOf(spec *model.PodSpec) []*Term {
	var out []*Term
	for i := range spec.Affinity {
		out = append(out, x.internTerm(RequiredAffinity, 0, &spec.Affinity[i]))
	}
	for i := range spec.AntiAffinity {
		out = append(out, x.internTerm(RequiredAntiAffinity, 0, &spec.AntiAffinity[i]))
	}
	for i := range spec.PreferredAffinity {
		w := &spec.PreferredAffinity[i]
		out = append(out, x.internTerm(PreferredAffinity, w.Weight, &w.Term))
	}
	for i := range spec.PreferredAntiAffinity {
		w := &spec.PreferredAntiAffinity[i]
		out = append(out, x.internTerm(PreferredAntiAffinity, w.Weight, &w.Term))
	}
	return out
}

// MatchTermOf returns the selectors of an inter-pod affinity term.
func MatchTermOf(t *model.PodAffinityTerm) MatchTerm {
	return MatchTerm{Namespaces: t.Namespaces, NamespaceSelector: t.NamespaceSelector, Selector: t.Selector}
}

// internTerm returns the Term of an affinity term, creating it if necessary.
func (x *Index) internTerm(kind TermKind, weight int32, pt *model.PodAffinityTerm) *Term {
	m := MatchTermOf(pt)
	b := append(make([]byte, 0, 128), '0'+byte(kind))
	b = strconv.AppendInt(b, int64(weight), 10)
	b = AppendTerm(AppendText(b, pt.TopologyKey), &m)
	if t := x.terms[string(b)]; t != nil {
		return t
	}
	x.trackTerm(&m)
	t := &Term{Kind: kind, Weight: weight, Match: m, DomainCounter: DomainCounter{Topology: x.Topology(pt.TopologyKey), index: x}}
	x.terms[string(b)] = t
	x.bytes += keyCost * len(b)
	terms := []MatchTerm{m}
	pairs, unkeyed := requiredLabels(terms)
	x.termRegistry.add(t, pairs, unkeyed)
	x.visitClasses(terms, func(cl *PodClass) {
		if x.termMatchesIncoming(&t.Match, cl) {
			cl.terms = append(cl.terms, t)
		}
	})
	return t
}
