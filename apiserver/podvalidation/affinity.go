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

func (r *errorCollector) affinity(affinity *corev1.Affinity, path *field.Path) {
	if affinity == nil {
		return
	}
	if node := affinity.NodeAffinity; node != nil {
		r.nodeAffinity(node, path.Child("nodeAffinity"))
	}
	if pod := affinity.PodAffinity; pod != nil {
		fldPath := path.Child("podAffinity")
		r.podTerms(pod.RequiredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.RequiredTerms))
		r.weightedPodTerms(pod.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.PreferredTerms))
	}
	if anti := affinity.PodAntiAffinity; anti != nil {
		fldPath := path.Child("podAntiAffinity")
		r.podTerms(anti.RequiredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.RequiredTerms))
		r.weightedPodTerms(anti.PreferredDuringSchedulingIgnoredDuringExecution, fldPath.Child(podfields.PreferredTerms))
	}
}

func (r *errorCollector) nodeAffinity(affinity *corev1.NodeAffinity, path *field.Path) {
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		r.nodeSelector(affinity.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(podfields.RequiredTerms))
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term, idxPath := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i], path.Child(podfields.PreferredTerms).Index(i)
		r.weight(term.Weight, idxPath.Child("weight"))
		r.nodeSelectorTerm(&term.Preference, false, idxPath.Child("preference"))
	}
}

func (r *errorCollector) weight(weight int32, path *field.Path) {
	if weight < 1 || weight > 100 {
		r.invalid(path, weight, "must be in the range 1-100")
	}
}

func (r *errorCollector) podTerms(terms []corev1.PodAffinityTerm, path *field.Path) {
	for i := range terms {
		r.podTerm(&terms[i], path.Index(i))
	}
}

func (r *errorCollector) weightedPodTerms(terms []corev1.WeightedPodAffinityTerm, path *field.Path) {
	for i := range terms {
		idxPath := path.Index(i)
		r.weight(terms[i].Weight, idxPath.Child("weight"))
		r.podTerm(&terms[i].PodAffinityTerm, idxPath.Child("podAffinityTerm"))
	}
}

func (r *errorCollector) podTerm(term *corev1.PodAffinityTerm, path *field.Path) {
	options := unversioned.LabelSelectorValidationOptions{}
	r.add(unversioned.ValidateLabelSelector(term.LabelSelector, options, path.Child("labelSelector"))...)
	r.add(unversioned.ValidateLabelSelector(term.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		r.invalidEach(path.Child("namespace"), name, apivalidation.ValidateNamespaceName(name, false))
	}
	r.labelKeys(term.MatchLabelKeys, term.LabelSelector, path.Child("matchLabelKeys"))
	r.labelKeys(term.MismatchLabelKeys, term.LabelSelector, path.Child("mismatchLabelKeys"))
	r.keysNotInSelector(term.MatchLabelKeys, term.LabelSelector, path)
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

// labelKeys validates keys that are merged into a selector, which must therefore exist.
func (r *errorCollector) labelKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) {
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

// keysNotInSelector rejects keys that the selector already has. PrepareForCreate has added each key
// to the selector once, so only a second occurrence is an error.
func (r *errorCollector) keysNotInSelector(keys []string, selector *metav1.LabelSelector, path *field.Path) {
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
