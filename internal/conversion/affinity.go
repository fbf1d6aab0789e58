package conversion

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// convertAffinity converts the inter-pod affinity terms. A list with a malformed term is
// dropped as a whole, as in kube-scheduler, and recorded as a parse error.
func convertAffinity(s *model.PodSpec, pod *corev1.Pod) {
	a := pod.Spec.Affinity
	if a == nil {
		return
	}
	c := affinityConverter{spec: s, pod: pod}
	if pa := a.PodAffinity; pa != nil {
		c.list, c.field = "requiredAffinityTerms", "podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
		s.Affinity = c.required(pa.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if pa := a.PodAntiAffinity; pa != nil {
		c.list, c.field = "requiredAntiAffinityTerms", "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
		s.AntiAffinity = c.required(pa.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if pa := a.PodAffinity; pa != nil {
		c.list, c.field = "preferredAffinityTerms", "podAffinity.preferredDuringSchedulingIgnoredDuringExecution"
		s.PreferredAffinity = c.preferred(pa.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pa := a.PodAntiAffinity; pa != nil {
		c.list, c.field = "preferredAntiAffinityTerms", "podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
		s.PreferredAntiAffinity = c.preferred(pa.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// affinityConverter converts the lists of one pod. list is kube-scheduler's name
// of the current list, field its path.
type affinityConverter struct {
	spec        *model.PodSpec
	pod         *corev1.Pod
	list, field string
}

func (c *affinityConverter) required(in []corev1.PodAffinityTerm) []model.PodAffinityTerm {
	var out []model.PodAffinityTerm
	for i := range in {
		t, err := podTerm(c.pod, &in[i])
		if err != nil {
			c.addParseError(i, err)
			return nil
		}
		out = append(out, t)
	}
	return out
}

func (c *affinityConverter) preferred(in []corev1.WeightedPodAffinityTerm) []model.WeightedPodAffinityTerm {
	var out []model.WeightedPodAffinityTerm
	for i := range in {
		t, err := podTerm(c.pod, &in[i].PodAffinityTerm)
		if err != nil {
			c.addParseError(i, err)
			return nil
		}
		out = append(out, model.WeightedPodAffinityTerm{Weight: in[i].Weight, Term: t})
	}
	return out
}

func (c *affinityConverter) addParseError(i int, err error) {
	c.spec.ParseErrors = append(c.spec.ParseErrors, model.ParseError{
		Kind:    model.ParseErrorPodAffinity,
		Path:    fmt.Sprintf("spec.affinity.%s[%d]", c.field, i),
		Message: c.list + ": " + err.Error(),
	})
}

// podTerm converts a term. A term without namespaces and namespace selector
// means the pod's namespace.
func podTerm(pod *corev1.Pod, t *corev1.PodAffinityTerm) (model.PodAffinityTerm, error) {
	out := model.PodAffinityTerm{TopologyKey: t.TopologyKey, Namespaces: slices.Clone(t.Namespaces)}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		out.Namespaces = []string{pod.Namespace}
	}
	slices.Sort(out.Namespaces)
	out.Namespaces = slices.Compact(out.Namespaces)
	var err error
	if out.Selector, err = Selector(t.LabelSelector); err != nil {
		return out, err
	}
	out.NamespaceSelector, err = Selector(t.NamespaceSelector)
	return out, err
}

// convertSpread converts the topology spread constraints.
func convertSpread(s *model.PodSpec, pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		out := SpreadConstraint(c)
		var err error
		if out.Selector, err = Selector(c.LabelSelector); err != nil {
			code := model.ParseErrorSoftSpread
			if out.Hard {
				code = model.ParseErrorHardSpread
			}
			s.ParseErrors = append(s.ParseErrors, model.ParseError{
				Kind: code, Message: err.Error(),
				Path: fmt.Sprintf("spec.topologySpreadConstraints[%d].labelSelector", i),
			})
		}
		s.Spread = append(s.Spread, out)
	}
}

// SpreadConstraint converts a constraint except for its selector.
func SpreadConstraint(c *corev1.TopologySpreadConstraint) model.SpreadConstraint {
	out := model.SpreadConstraint{
		TopologyKey: c.TopologyKey, MaxSkew: c.MaxSkew, MinDomains: 1,
		Hard:           c.WhenUnsatisfiable == corev1.DoNotSchedule,
		MatchLabelKeys: slices.Clone(c.MatchLabelKeys),
		IgnoreAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		HonorTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	if c.MinDomains != nil {
		out.MinDomains = *c.MinDomains
	}
	return out
}
