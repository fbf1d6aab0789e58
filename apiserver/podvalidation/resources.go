package podvalidation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// ValidateResourceRequirements validates requests and limits outside of a pod, without resource
// claims.
func ValidateResourceRequirements(requirements *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var c podValidator
	c.containerResources(requirements, path)
	return c.errs
}

func (c *podValidator) containerResources(requirements *corev1.ResourceRequirements, path *field.Path) {
	c.resourceRequirements(requirements, containerResourceName, path)
}

// resourceRequirements validates resource names with checkName, quantities, and requests against
// limits.
func (c *podValidator) resourceRequirements(req *corev1.ResourceRequirements,
	checkName func(*errorCollector, corev1.ResourceName, *field.Path), path *field.Path) {
	limits, requests := path.Child("limits"), path.Child("requests")
	hugePages, cpuOrMemory := false, false
	note := func(name corev1.ResourceName) {
		hugePages = hugePages || podfields.IsHugePage(name)
		cpuOrMemory = cpuOrMemory || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	for name, limit := range podfields.SortedByKey(req.Limits) {
		keyPath := limits.Key(string(name))
		checkName(&c.errorCollector, name, keyPath)
		c.quantity(name, limit, keyPath)
		c.hugePageSize(name, limit, keyPath)
		note(name)
	}
	for name, request := range podfields.SortedByKey(req.Requests) {
		keyPath := requests.Key(string(name))
		checkName(&c.errorCollector, name, keyPath)
		c.quantity(name, request, keyPath)
		c.requestWithinLimit(name, request, req.Limits, limits, requests)
		c.hugePageSize(name, request, keyPath)
		note(name)
	}
	if hugePages && !cpuOrMemory {
		c.forbidden(path, "HugePages require cpu or memory")
	}
	c.claimReferences(req.Claims, path.Child("claims"))
}

func (r *errorCollector) requestWithinLimit(name corev1.ResourceName, request resource.Quantity,
	all corev1.ResourceList, limits, requests *field.Path) {
	limit, limited := all[name]
	order := request.Cmp(limit)
	switch {
	case !limited && !canOvercommit(name):
		r.required(limits, "Limit must be set for non overcommitable resources")
	case !limited:
	case order != 0 && !canOvercommit(name):
		r.invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))
	case order > 0:
		r.invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))
	}
}

// hugePageSize requires a multiple of the page size.
func (r *errorCollector) hugePageSize(name corev1.ResourceName, value resource.Quantity, path *field.Path) {
	if !podfields.IsHugePage(name) {
		return
	}
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err != nil || size.Sign() <= 0 || size.MilliValue()%1000 != 0 || value.Value()%size.Value() != 0 {
		r.invalid(path, value.String(), fmt.Sprintf("%s is not positive integer multiple of %s", value.String(), name))
	}
}

// claimReferences requires that a container references a claim either as a whole or by distinct
// requests.
func (c *podValidator) claimReferences(claims []corev1.ResourceClaim, path *field.Path) {
	wholeClaims, requests := podfields.NameSet{}, map[string]podfields.NameSet{}
	for i, claim := range claims {
		idxPath := path.Index(i)
		if claim.Name == "" {
			c.required(idxPath, "")
			continue
		}
		switch {
		case wholeClaims[claim.Name]:
			c.duplicate(idxPath, claim.Name)
		case claim.Request == "":
			if len(requests[claim.Name]) > 0 {
				c.duplicate(idxPath, claim.Name)
			}
			wholeClaims.Add(claim.Name)
		default:
			c.dnsLabel(claim.Request, idxPath.Child("request"))
			if requests[claim.Name] == nil {
				requests[claim.Name] = podfields.NameSet{}
			}
			if !requests[claim.Name].Add(claim.Request) {
				c.duplicate(idxPath, claim.Name+"/"+claim.Request)
			}
		}
		if !c.claims.Has(claim.Name) {
			c.unknownClaim(claim.Name, idxPath)
		}
	}
}

func (c *podValidator) unknownClaim(name string, path *field.Path) {
	missing := field.NotFound(path, name)
	missing.Detail = "must be one of the names in pod.spec.resourceClaims"
	if c.claims.Len() == 0 {
		missing.Detail += " which is empty"
	} else {
		missing.Detail += ": " + strings.Join(sets.List(c.claims), ", ")
	}
	c.add(missing)
}

// podResourceClaims validates the claims of the pod and records their names.
func (c *podValidator) podResourceClaims(path *field.Path) {
	seen := podfields.NameSet{}
	c.claims = sets.New[string]()
	for i, claim := range c.spec.ResourceClaims {
		idxPath := path.Index(i)
		switch {
		case claim.Name == "":
			c.required(idxPath.Child("name"), "")
		case !seen.Add(claim.Name):
			c.duplicate(idxPath.Child("name"), claim.Name)
		default:
			c.claimName(claim, idxPath.Child("name"))
			c.claims.Insert(claim.Name)
		}
		if claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil {
			c.invalid(idxPath, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		}
		if claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil {
			c.invalid(idxPath, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		}
		if name := claim.ResourceClaimName; name != nil {
			c.invalidEach(idxPath.Child("resourceClaimName"), *name, apivalidation.NameIsDNSSubdomain(*name, false))
		}
		if name := claim.ResourceClaimTemplateName; name != nil {
			c.invalidEach(idxPath.Child("resourceClaimTemplateName"), *name, apivalidation.NameIsDNSSubdomain(*name, false))
		}
	}
}

// claimName validates the name of a claim in the pod, and the name of the ResourceClaim to be
// generated.
func (c *podValidator) claimName(claim corev1.PodResourceClaim, path *field.Path) {
	before := len(c.errs)
	c.dnsLabel(claim.Name, path)
	if len(c.errs) > before || c.meta == nil || claim.ResourceClaimTemplateName == nil {
		return
	}
	generated := c.meta.Name + "-" + claim.Name
	for _, reason := range apivalidation.NameIsDNSSubdomain(generated, false) {
		c.invalid(path, generated, "final ResourceClaim name: "+reason)
	}
}

// podLevelResources validates pod-level resources and compares them with the containers' resources.
func (c *podValidator) podLevelResources(path *field.Path) {
	podResources := c.spec.Resources
	if podResources == nil {
		return
	}
	if podResources.Claims != nil {
		c.forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level")
	}
	c.resourceRequirements(podResources, podResourceName, path)
	pod := &corev1.Pod{Spec: *c.spec}
	for name, sum := range podfields.SortedByKey(resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})) {
		request, set := podResources.Requests[name]
		if set && sum.Cmp(request) > 0 {
			c.invalid(path.Child("requests").Key(string(name)), request.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String())
		}
	}
	c.limitsWithinPod(path)
}

// limitsWithinPod requires each container limit to be at most the pod limit. Their sum may exceed
// it, except for huge pages, which cannot be overcommitted.
func (c *podValidator) limitsWithinPod(path *field.Path) {
	podResources := c.spec.Resources
	for i, container := range c.spec.Containers {
		for name, limit := range podfields.SortedByKey(container.Resources.Limits) {
			podLimit, set := podResources.Limits[name]
			if set && limit.Cmp(podLimit) > 0 {
				c.invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(),
					"must be less than or equal to pod limits of "+podLimit.String())
			}
		}
	}
	pod := &corev1.Pod{Spec: *c.spec}
	for name, sum := range podfields.SortedByKey(resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})) {
		podLimit, set := podResources.Limits[name]
		if set && podfields.IsHugePage(name) && sum.Cmp(podLimit) > 0 {
			c.invalid(path.Child("limits").Key(string(name)), podLimit.String(),
				"must be greater than or equal to aggregate container limits of "+sum.String())
		}
	}
}

func (c *podValidator) resizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) {
	var seen []corev1.ResourceName
	for i, policy := range policies {
		if slices.Contains(seen, policy.ResourceName) {
			c.duplicate(path.Index(i), policy.ResourceName)
		}
		seen = append(seen, policy.ResourceName)
		requiredOneOf(&c.errorCollector, policy.ResourceName, path, corev1.ResourceCPU, corev1.ResourceMemory)
		requiredOneOf(&c.errorCollector, policy.RestartPolicy, path, corev1.NotRequired, corev1.RestartContainer)
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			c.invalid(path, policy.RestartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'")
		}
	}
}
