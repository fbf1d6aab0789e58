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

func (r *errorCollector) validateAffinity(affinity *corev1.Affinity, path *field.Path) {
	if affinity == nil {
		return
	}
	if node := affinity.NodeAffinity; node != nil {
		r.validateNodeAffinity(node, path.Child("nodeAffinity"))
	}
	if pod := affinity.PodAffinity; pod != nil {
		fldPath := path.Child("podAffinity")
		r.validatePodTerms(pod.RequiredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.RequiredTerms))
		r.validateWeightedPodTerms(pod.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.PreferredTerms))
	}
	if antiAffinity := affinity.PodAntiAffinity; antiAffinity != nil {
		fldPath := path.Child("podAntiAffinity")
		r.validatePodTerms(antiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.RequiredTerms))
		r.validateWeightedPodTerms(antiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.PreferredTerms))
	}
}

func (r *errorCollector) validateNodeAffinity(affinity *corev1.NodeAffinity, path *field.Path) {
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		r.validateNodeSelector(affinity.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(podfields.RequiredTerms))
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term, idxPath := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(podfields.PreferredTerms).Index(i)
		r.validateWeight(term.Weight, idxPath.Child("weight"))
		r.validateNodeSelectorTerm(&term.Preference, false, idxPath.Child("preference"))
	}
}

func (r *errorCollector) validateWeight(weight int32, path *field.Path) {
	if weight < 1 || weight > 100 {
		r.invalid(path, weight, "must be in the range 1-100")
	}
}

func (r *errorCollector) validatePodTerms(terms []corev1.PodAffinityTerm, path *field.Path) {
	for i := range terms {
		r.validatePodTerm(&terms[i], path.Index(i))
	}
}

func (r *errorCollector) validateWeightedPodTerms(terms []corev1.WeightedPodAffinityTerm, path *field.Path) {
	for i := range terms {
		idxPath := path.Index(i)
		r.validateWeight(terms[i].Weight, idxPath.Child("weight"))
		r.validatePodTerm(&terms[i].PodAffinityTerm, idxPath.Child("podAffinityTerm"))
	}
}

func (r *errorCollector) validatePodTerm(term *corev1.PodAffinityTerm, path *field.Path) {
	options := unversioned.LabelSelectorValidationOptions{}
	r.add(unversioned.ValidateLabelSelector(term.LabelSelector, options, path.Child("labelSelector"))...)
	r.add(unversioned.ValidateLabelSelector(term.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		r.invalidEach(path.Child("namespace"), name, apivalidation.ValidateNamespaceName(name, false))
	}
	r.validateLabelKeys(term.MatchLabelKeys, term.LabelSelector, path.Child("matchLabelKeys"))
	r.validateLabelKeys(term.MismatchLabelKeys, term.LabelSelector, path.Child("mismatchLabelKeys"))
	r.forbidKeysInSelector(term.MatchLabelKeys, term.LabelSelector, path)
	for i, key := range term.MatchLabelKeys {
		if slices.Contains(term.MismatchLabelKeys, key) {
			r.invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
	if term.TopologyKey == "" {
		r.required(path.Child("topologyKey"), "can not be empty")
	}
	r.add(unversioned.ValidateLabelName(term.TopologyKey, path.Child("topologyKey"))...)
}

// validateLabelKeys validates keys that are merged into a selector, which must therefore exist.
func (r *errorCollector) validateLabelKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) {
	if len(keys) == 0 {
		return
	}
	if selector == nil {
		r.forbidden(path, "must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		r.add(unversioned.ValidateLabelName(key, path.Index(i))...)
	}
}

// forbidKeysInSelector rejects keys that the selector already has. PrepareForCreate has added each key
// to the selector once, so only a second occurrence is an error.
func (r *errorCollector) forbidKeysInSelector(keys []string, selector *metav1.LabelSelector, path *field.Path) {
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
			r.invalid(path.Index(i), expression.Key, "exists in both matchLabelKeys and labelSelector")
		}
	}
}
