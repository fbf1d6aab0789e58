package conversion

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/berthproject/berth/engine/model"
)

const nodeAffinityPath = "spec.affinity.nodeAffinity."

// convertNodeSelector converts the node selector and the node affinity.
func convertNodeSelector(s *model.PodSpec, pod *corev1.Pod) {
	s.NodeSelector.Labels = model.LabelsOf(pod.Spec.NodeSelector)
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return
	}
	required, preferred, parseErrs := NodeAffinity(pod.Spec.Affinity.NodeAffinity)
	s.NodeSelector.HasRequired = required != nil
	s.NodeSelector.Required = required
	s.NodeSelector.Preferred = preferred
	s.ParseErrors = append(s.ParseErrors, parseErrs...)
}

// NodeAffinity converts the node affinity of a pod or of a profile's addedAffinity. required is nil if none is given.
// It contains malformed required terms, too, with Malformed set. One malformed preferred term fails the whole
// scheduling attempt, so all errors of preferred terms make a single parse error.
func NodeAffinity(a *corev1.NodeAffinity) (required []model.NodeSelectorTerm, preferred []model.PreferredSchedulingTerm, parseErrs []model.ParseError) {
	if sel := a.RequiredDuringSchedulingIgnoredDuringExecution; sel != nil {
		required = []model.NodeSelectorTerm{}
		for i := range sel.NodeSelectorTerms {
			term, err := nodeTerm(&sel.NodeSelectorTerms[i])
			if err != nil {
				parseErrs = append(parseErrs, model.ParseError{
					Kind: model.ParseErrorRequiredNodeAffinity, Message: err.Error(),
					Path: fmt.Sprintf("%srequiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d]", nodeAffinityPath, i),
				})
			}
			required = append(required, term)
		}
	}
	terms := a.PreferredDuringSchedulingIgnoredDuringExecution
	if len(terms) == 0 {
		return required, nil, parseErrs
	}
	if _, err := nodeaffinity.NewPreferredSchedulingTerms(terms); err != nil {
		return required, nil, append(parseErrs, model.ParseError{
			Kind: model.ParseErrorPreferredNodeAffinity, Message: err.Error(),
			Path: nodeAffinityPath + "preferredDuringSchedulingIgnoredDuringExecution",
		})
	}
	for i := range terms {
		t := &terms[i].Preference
		if terms[i].Weight == 0 || len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			continue
		}
		term, _ := nodeTerm(t) // NewPreferredSchedulingTerms has validated all terms
		preferred = append(preferred, model.PreferredSchedulingTerm{Weight: terms[i].Weight, Term: term})
	}
	return required, preferred, parseErrs
}

// nodeTerm converts one term. With an error, the term is malformed but has its
// requirements, which still exclude nodes.
func nodeTerm(t *corev1.NodeSelectorTerm) (model.NodeSelectorTerm, error) {
	out := model.NodeSelectorTerm{Labels: nodeRequirements(t.MatchExpressions), Fields: nodeRequirements(t.MatchFields)}
	_, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{*t}})
	out.Malformed = err != nil
	return out, err
}

var nodeOps = map[corev1.NodeSelectorOperator]model.Op{
	corev1.NodeSelectorOpIn: model.In, corev1.NodeSelectorOpNotIn: model.NotIn,
	corev1.NodeSelectorOpExists: model.Exists, corev1.NodeSelectorOpDoesNotExist: model.DoesNotExist,
	corev1.NodeSelectorOpGt: model.Gt, corev1.NodeSelectorOpLt: model.Lt,
}

func nodeRequirements(in []corev1.NodeSelectorRequirement) []model.Requirement {
	var out []model.Requirement
	for i := range in {
		op, ok := nodeOps[in[i].Operator]
		if !ok {
			continue // the term is malformed
		}
		values := slices.Clone(in[i].Values)
		slices.Sort(values)
		out = append(out, model.Requirement{Key: in[i].Key, Op: op, Values: values})
	}
	return out
}
