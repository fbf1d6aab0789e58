package admission

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// quotaAdmission wraps the ResourceQuota plugin of k8s.io/apiserver.
type quotaAdmission struct {
	*resourcequota.QuotaAdmission
	cache  cacheTracker
	lister corelisters.ResourceQuotaLister
}

var (
	_ admission.ValidationInterface                = &quotaAdmission{}
	_ initializer.WantsExternalKubeInformerFactory = &quotaAdmission{}
)

// quotaWorkers is the number of concurrent quota evaluations.
const quotaWorkers = 5

func newQuota() (admission.Interface, error) {
	plugin, err := resourcequota.NewResourceQuota(nil, quotaWorkers)
	if err != nil {
		return nil, err
	}
	return &quotaAdmission{QuotaAdmission: plugin}, nil
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory. The
// initializer sets the drained notification before the informers, so the evaluators can be started
// here.
func (q *quotaAdmission) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	q.QuotaAdmission.SetExternalKubeInformerFactory(f)
	q.SetQuotaConfiguration(quotaConfiguration())
	informer := f.Core().V1().ResourceQuotas()
	q.lister, q.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Validate charges a request to the quotas of its namespace. It returns at once for a namespace
// without quotas, for which the wrapped plugin would read the store.
func (q *quotaAdmission) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() == corev1.Resource("resourcequotas") {
		q.cache.recordWrite(a.GetNamespace())
	}
	if !q.cache.stale(a.GetNamespace()) {
		if all, err := q.lister.ResourceQuotas(a.GetNamespace()).List(labels.Everything()); err == nil && len(all) == 0 {
			return nil
		}
	}
	return q.QuotaAdmission.Validate(ctx, a, o)
}

// quotaConfiguration returns evaluators for pods, services and claims, object counts under legacy
// names for a few kinds, and generic object counts for all others.
func quotaConfiguration() quota.Configuration {
	evaluators := []quota.Evaluator{
		&evaluator{resource: corev1.Resource("pods"), isCounted: isPodResource, usage: podUsage, checkRequired: podConstraints, matchesScope: podMatchesScope},
		&evaluator{resource: corev1.Resource("services"), isCounted: isOneOf("services", "services.nodeports", "services.loadbalancers"), usage: serviceUsage},
		&evaluator{resource: corev1.Resource("persistentvolumeclaims"), isCounted: isClaimResource, usage: claimUsage},
	}
	for _, name := range []string{"configmaps", "resourcequotas", "replicationcontrollers", "secrets"} {
		evaluators = append(evaluators, generic.NewObjectCountEvaluator(corev1.Resource(name), nil, corev1.ResourceName(name)))
	}
	ignored := map[schema.GroupResource]struct{}{
		corev1.Resource("events"):                                              {},
		{Group: "events.k8s.io", Resource: "events"}:                           {},
		{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: {},
	}
	return generic.NewConfiguration(evaluators, ignored)
}

// evaluator evaluates the quota usage of one resource.
type evaluator struct {
	resource schema.GroupResource
	// isCounted reports whether the objects use the quota resource.
	isCounted func(corev1.ResourceName) bool
	usage     func(runtime.Object) corev1.ResourceList
	// checkRequired returns an error that names the required resources that an object does not set.
	// nil means none are required.
	checkRequired func(required []corev1.ResourceName, obj runtime.Object) error
	// matchesScope reports whether an object is in a scope. nil means it is in none.
	matchesScope func(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error)
}

var _ quota.Evaluator = &evaluator{}

// GroupResource returns the resource that the evaluator counts.
func (e *evaluator) GroupResource() schema.GroupResource { return e.resource }

// Handles reports whether a request can change the usage: creates, and updates that change sizes.
func (e *evaluator) Handles(a admission.Attributes) bool {
	if a.GetSubresource() != "" {
		return a.GetSubresource() == "resize" && a.GetOperation() == admission.Update
	}
	return a.GetOperation() == admission.Create || (a.GetOperation() == admission.Update && e.resource != corev1.Resource("pods"))
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
		in, err := e.inScope(scope, obj)
		if err != nil {
			return nil, fmt.Errorf("error on matching scope %v: %w", scope, err)
		}
		if in {
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

// Usage returns the quota usage of the object.
func (e *evaluator) Usage(obj runtime.Object) (corev1.ResourceList, error) {
	used := e.usage(obj)
	if len(used) > 0 {
		used[generic.ObjectCountQuotaResourceNameFor(e.resource)] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	return used, nil
}

// UsageStats is not supported: the admission plugin does not update quota status.
func (e *evaluator) UsageStats(quota.UsageStatsOptions) (quota.UsageStats, error) {
	return quota.UsageStats{}, fmt.Errorf("usage statistics of %s are not supported", e.resource)
}

func isOneOf(names ...corev1.ResourceName) func(corev1.ResourceName) bool {
	return func(name corev1.ResourceName) bool { return slices.Contains(names, name) }
}

func isPodResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage:
		return true
	}
	text := string(name)
	if strings.HasPrefix(text, "hugepages-") || strings.HasPrefix(text, "requests.hugepages-") {
		return true
	}
	extended, found := strings.CutPrefix(text, "requests.")
	return found && strings.Contains(extended, "/") && !strings.Contains(extended, "storageclass.storage.k8s.io")
}

// podUsage returns the usage of a pod, nil for finished pods.
func podUsage(obj runtime.Object) corev1.ResourceList {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	used := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
	for name, q := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
			used[name] = q
		}
		used[corev1.ResourceName("requests."+string(name))] = q
		if strings.HasPrefix(string(name), "hugepages-") {
			used[name] = q
		}
	}
	for name, q := range resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}) {
		used[corev1.ResourceName("limits."+string(name))] = q
	}
	return used
}

// podConstraints requires every container to set the requests and limits that a quota counts.
func podConstraints(required []corev1.ResourceName, obj runtime.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("unexpected input object %v", obj)
	}
	missing := map[string][]string{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, name := range required {
			if !isSetByContainer(&c, name) {
				missing[string(name)] = append(missing[string(name)], c.Name)
			}
		}
	}
	var texts []string
	for name, containers := range missing {
		texts = append(texts, fmt.Sprintf("%s for: %s", name, strings.Join(containers, ",")))
	}
	if len(texts) == 0 {
		return nil
	}
	sort.Strings(texts)
	return fmt.Errorf("must specify %s", strings.Join(texts, "; "))
}

func isSetByContainer(c *corev1.Container, name corev1.ResourceName) bool {
	list, plain := c.Resources.Requests, strings.TrimPrefix(string(name), "requests.")
	if limit, found := strings.CutPrefix(string(name), "limits."); found {
		list, plain = c.Resources.Limits, limit
	}
	switch corev1.ResourceName(plain) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		_, found := list[corev1.ResourceName(plain)]
		return found
	}
	return true
}

func podMatchesScope(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false, fmt.Errorf("unexpected input object %v", obj)
	}
	ends := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return ends, nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !ends, nil
	case corev1.ResourceQuotaScopeBestEffort:
		return isBestEffort(pod), nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !isBestEffort(pod), nil
	case corev1.ResourceQuotaScopePriorityClass:
		return matchesScopeValue(scope, pod.Spec.PriorityClassName), nil
	}
	return false, nil
}

func isBestEffort(pod *corev1.Pod) bool {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if len(c.Resources.Requests)+len(c.Resources.Limits) > 0 {
			return false
		}
	}
	return true
}

func matchesScopeValue(scope corev1.ScopedResourceSelectorRequirement, value string) bool {
	listed := slices.Contains(scope.Values, value)
	switch scope.Operator {
	case corev1.ScopeSelectorOpIn:
		return listed
	case corev1.ScopeSelectorOpNotIn:
		return !listed
	case corev1.ScopeSelectorOpDoesNotExist:
		return value == ""
	}
	return value != ""
}

func serviceUsage(obj runtime.Object) corev1.ResourceList {
	s, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	ports, balancers := 0, 0
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(s.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		balancers = 1
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 || s.Spec.AllocateLoadBalancerNodePorts == nil || *s.Spec.AllocateLoadBalancerNodePorts {
				ports++
			}
		}
	}
	return corev1.ResourceList{
		corev1.ResourceServices:              *resource.NewQuantity(1, resource.DecimalSI),
		corev1.ResourceServicesNodePorts:     *resource.NewQuantity(int64(ports), resource.DecimalSI),
		corev1.ResourceServicesLoadBalancers: *resource.NewQuantity(int64(balancers), resource.DecimalSI),
	}
}

const storageClassSuffix = ".storageclass.storage.k8s.io/"

func isClaimResource(name corev1.ResourceName) bool {
	return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage || strings.Contains(string(name), storageClassSuffix)
}

// claimUsage counts a claim in total and for its storage class.
func claimUsage(obj runtime.Object) corev1.ResourceList {
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	one := *resource.NewQuantity(1, resource.DecimalSI)
	used := corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: one}
	class := storageClassName(c)
	if class != "" {
		used[corev1.ResourceName(class+storageClassSuffix+"persistentvolumeclaims")] = one
	}
	if size, found := c.Spec.Resources.Requests[corev1.ResourceStorage]; found {
		used[corev1.ResourceRequestsStorage] = size
		if class != "" {
			used[corev1.ResourceName(class+storageClassSuffix+"requests.storage")] = size
		}
	}
	return used
}
