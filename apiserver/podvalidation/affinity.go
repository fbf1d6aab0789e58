package podvalidation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

func (c *errorCollector) validateAffinity(affinity *corev1.Affinity, path *field.Path) {
	if affinity == nil {
		return
	}
	if node := affinity.NodeAffinity; node != nil {
		c.validateNodeAffinity(node, path.Child("nodeAffinity"))
	}
	if pod := affinity.PodAffinity; pod != nil {
		fldPath := path.Child("podAffinity")
		c.validatePodTerms(pod.RequiredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.RequiredTerms))
		c.validateWeightedPodTerms(pod.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.PreferredTerms))
	}
	if antiAffinity := affinity.PodAntiAffinity; antiAffinity != nil {
		fldPath := path.Child("podAntiAffinity")
		c.validatePodTerms(antiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.RequiredTerms))
		c.validateWeightedPodTerms(antiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.PreferredTerms))
	}
}

func (c *errorCollector) validateNodeAffinity(affinity *corev1.NodeAffinity, path *field.Path) {
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		c.validateNodeSelector(affinity.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(podfields.RequiredTerms))
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term, idxPath := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(podfields.PreferredTerms).Index(i)
		c.validateWeight(term.Weight, idxPath.Child("weight"))
		c.validateNodeSelectorTerm(&term.Preference, false, idxPath.Child("preference"))
	}
}

func (c *errorCollector) validateWeight(weight int32, path *field.Path) {
	if weight < 1 || weight > 100 {
		c.invalid(path, weight, "must be in the range 1-100")
	}
}

func (c *errorCollector) validatePodTerms(terms []corev1.PodAffinityTerm, path *field.Path) {
	for i := range terms {
		c.validatePodTerm(&terms[i], path.Index(i))
	}
}

func (c *errorCollector) validateWeightedPodTerms(terms []corev1.WeightedPodAffinityTerm, path *field.Path) {
	for i := range terms {
		idxPath := path.Index(i)
		c.validateWeight(terms[i].Weight, idxPath.Child("weight"))
		c.validatePodTerm(&terms[i].PodAffinityTerm, idxPath.Child("podAffinityTerm"))
	}
}

func (c *errorCollector) validatePodTerm(term *corev1.PodAffinityTerm, path *field.Path) {
	options := unversioned.LabelSelectorValidationOptions{}
	c.add(unversioned.ValidateLabelSelector(term.LabelSelector, options, path.Child("labelSelector"))...)
	c.add(unversioned.ValidateLabelSelector(term.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		c.invalidEach(path.Child("namespace"), name, apivalidation.ValidateNamespaceName(name, false))
	}
	c.validateLabelKeys(term.MatchLabelKeys, term.LabelSelector, path.Child("matchLabelKeys"))
	c.validateLabelKeys(term.MismatchLabelKeys, term.LabelSelector, path.Child("mismatchLabelKeys"))
	c.forbidKeysInSelector(term.MatchLabelKeys, term.LabelSelector, path)
	for i, key := range term.MatchLabelKeys {
		if slices.Contains(term.MismatchLabelKeys, key) {
			c.invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
	if term.TopologyKey == "" {
		c.required(path.Child("topologyKey"), "can not be empty")
	}
	c.add(unversioned.ValidateLabelName(term.TopologyKey, path.Child("topologyKey"))...)
}

// validateLabelKeys validates keys that are merged into a selector, which must therefore exist.
func (c *errorCollector) validateLabelKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) {
	if len(keys) == 0 {
		return
	}
	if selector == nil {
		c.forbidden(path, "must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		c.add(unversioned.ValidateLabelName(key, path.Index(i))...)
	}
}

// forbidKeysInSelector rejects keys that the selector already has. PrepareForCreate has added each key
// to the selector once, so only a second occurrence is an error.
func (c *errorCollector) forbidKeysInSelector(keys []string, selector *metav1.LabelSelector, path *field.Path) {
	if selector == nil {
		return
	}
	selected := podfields.NameSet{}
	for key := range selector.MatchLabels {
		selected.Add(key)
	}
	for _, expression := range selector.MatchExpressions {
		repeated := !selected.Add(expression.Key)
		if i := slices.Index(keys, expression.Key); repeated && i >= 0 {
			c.invalid(path.Index(i), expression.Key, "exists in both matchLabelKeys and labelSelector")
		}
	}
}
