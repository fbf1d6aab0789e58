package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// Lister lists the objects of a resource in a namespace.
type Lister func(gr schema.GroupResource, namespace string) ([]runtime.Object, error)

// Evaluators returns the evaluators of the core group. All other resources need an object count evaluator, see
// [CountEvaluator]. If lister is nil, UsageStats must not be called; admission does not call it.
func Evaluators(lister Lister) []quota.Evaluator {
	evaluators := []quota.Evaluator{
		&evaluator{resource: corev1.Resource("pods"), updates: []string{"resize"}, isCounted: isPodResource, usage: podUsage,
			checkRequired: podConstraints, matchesScope: podMatchesScope},
		&evaluator{resource: corev1.Resource("services"), updates: []string{""}, usage: serviceUsage,
			isCounted: isOneOf(corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers)},
		&evaluator{resource: corev1.Resource("persistentvolumeclaims"), updates: []string{""}, isCounted: isClaimResource, usage: claimUsage,
			matchesScope: claimMatchesScope},
	}
	for _, e := range evaluators {
		e.(*evaluator).lister = lister
	}
	for _, name := range legacyNames {
		evaluators = append(evaluators, CountEvaluator(corev1.Resource(name), lister))
	}
	return evaluators
}

// legacyNames are the resources of the core group that quotas may also count without the prefix "count/".
var legacyNames = []string{"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}

// CountEvaluator returns an evaluator that counts the objects of a resource.
func CountEvaluator(gr schema.GroupResource, lister Lister) quota.Evaluator {
	var alias corev1.ResourceName
	if gr.Group == "" && slices.Contains(legacyNames, gr.Resource) {
		alias = corev1.ResourceName(gr.Resource)
	}
	return generic.NewObjectCountEvaluator(gr, func(namespace string) ([]runtime.Object, error) { return lister(gr, namespace) }, alias)
}

// Ignored returns the resources that quotas do not count.
func Ignored() map[schema.GroupResource]struct{} {
	return map[schema.GroupResource]struct{}{
		corev1.Resource("events"):                                              {},
		{Group: "events.k8s.io", Resource: "events"}:                           {},
		{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: {},
	}
}

// evaluator evaluates the quota usage of one resource.
type evaluator struct {
	resource schema.GroupResource
	// updates are the subresources, "" for the resource itself, whose updates can change the usage.
	updates []string
	// isCounted reports whether the objects use the quota resource.
	isCounted func(corev1.ResourceName) bool
	usage     func(runtime.Object) corev1.ResourceList
	// checkRequired returns an error that names the required resources that an object does not set.
	// nil means none are required.
	checkRequired func(required []corev1.ResourceName, obj runtime.Object) error
	// matchesScope reports whether an object is in a scope. nil means it is in none.
	matchesScope func(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error)
	lister       Lister
}

var _ quota.Evaluator = &evaluator{}

// GroupResource returns the resource that the evaluator counts.
func (e *evaluator) GroupResource() schema.GroupResource { return e.resource }

// Handles reports whether a request can change the usage: a creation, or an update of one of e.updates.
func (e *evaluator) Handles(a admission.Attributes) bool {
	switch a.GetOperation() {
	case admission.Create:
		return a.GetSubresource() == ""
	case admission.Update:
		return slices.Contains(e.updates, a.GetSubresource())
	}
	return false
}

// Constraints returns an error if an object does not set a resource that a quota limits.
func (e *evaluator) Constraints(required []corev1.ResourceName, obj runtime.Object) error {
	if e.checkRequired == nil {
		return nil
	}
	return e.checkRequired(required, obj)
}

// Matches reports whether a quota applies to the object.
func (e *evaluator) Matches(q *corev1.ResourceQuota, obj runtime.Object) (bool, error) {
	return generic.Matches(q, obj, e.MatchingResources, e.inScope)
}

func (e *evaluator) inScope(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	if e.matchesScope == nil {
		return false, nil
	}
	return e.matchesScope(scope, obj)
}

// MatchingResources returns the resources of input that this evaluator counts.
func (e *evaluator) MatchingResources(input []corev1.ResourceName) []corev1.ResourceName {
	count := generic.ObjectCountQuotaResourceNameFor(e.resource)
	return slices.DeleteFunc(slices.Clone(input), func(name corev1.ResourceName) bool { return name != count && !e.isCounted(name) })
}

// MatchingScopes returns the scopes that the object is in.
func (e *evaluator) MatchingScopes(obj runtime.Object, scopes []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	var matched []corev1.ScopedResourceSelectorRequirement
	for _, scope := range scopes {
		matches, err := e.inScope(scope, obj)
		if err != nil {
			return nil, fmt.Errorf("error on matching scope %v: %w", scope, err)
		}
		if matches {
			matched = append(matched, scope)
		}
	}
	return matched, nil
}

// UncoveredQuotaScopes returns the limited scopes that no quota covers.
func (e *evaluator) UncoveredQuotaScopes(limited, matched []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	var uncovered []corev1.ScopedResourceSelectorRequirement
	for _, scope := range limited {
		covered := slices.ContainsFunc(matched, func(m corev1.ScopedResourceSelectorRequirement) bool { return m.ScopeName == scope.ScopeName })
		if !covered {
			uncovered = append(uncovered, scope)
		}
	}
	return uncovered, nil
}

// Usage returns the quota usage of the object, including its object count.
func (e *evaluator) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	used := e.usage(obj)
	if used == nil {
		used = corev1.ResourceList{}
	}
	used[generic.ObjectCountQuotaResourceNameFor(e.resource)] = *resource.NewQuantity(1, resource.DecimalSI)
	return used, nil
}

// UsageStats returns the usage of all objects of a namespace.
func (e *evaluator) UsageStats(options quota.UsageStatsOptions) (quota.UsageStats, error) {
	list := func(namespace string) ([]runtime.Object, error) { return e.lister(e.resource, namespace) }
	return generic.CalculateUsageStats(options, list, e.inScope, e.Usage)
}

func isOneOf(names ...corev1.ResourceName) func(corev1.ResourceName) bool {
	return func(name corev1.ResourceName) bool { return slices.Contains(names, name) }
}
