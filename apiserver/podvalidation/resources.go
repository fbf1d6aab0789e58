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
	"github.com/berthproject/berth/apiserver/quantities"
)

// ValidateResourceRequirements validates requests and limits outside of a pod, without resource
// claims.
func ValidateResourceRequirements(requirements *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var c podValidator
	c.validateContainerResources(requirements, path)
	return c.errs
}

func (c *podValidator) validateContainerResources(requirements *corev1.ResourceRequirements, path *field.Path) {
	c.validateResourceRequirements(requirements, validateContainerResourceName, path)
}

// validateResourceRequirements validates resource names with checkName, quantities, and requests against
// limits.
func (c *podValidator) validateResourceRequirements(req *corev1.ResourceRequirements,
	checkName func(*errorCollector, corev1.ResourceName, *field.Path), path *field.Path) {
	limits, requests := path.Child("limits"), path.Child("requests")
	hugePages, cpuOrMemory := false, false
	track := func(name corev1.ResourceName) {
		hugePages = hugePages || podfields.IsHugePage(name)
		cpuOrMemory = cpuOrMemory || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	for name, limit := range podfields.SortedByKey(req.Limits) {
		keyPath := limits.Key(string(name))
		checkName(&c.errorCollector, name, keyPath)
		c.validateQuantity(name, limit, keyPath)
		c.validateHugePageSize(name, limit, keyPath)
		track(name)
	}
	for name, request := range podfields.SortedByKey(req.Requests) {
		keyPath := requests.Key(string(name))
		checkName(&c.errorCollector, name, keyPath)
		c.validateQuantity(name, request, keyPath)
		c.validateRequest(name, request, req.Limits, limits, requests)
		c.validateHugePageSize(name, request, keyPath)
		track(name)
	}
	if hugePages && !cpuOrMemory {
		c.forbidden(path, "HugePages require cpu or memory")
	}
	c.validateClaimReferences(req.Claims, path.Child("claims"))
}

func (c *errorCollector) validateRequest(name corev1.ResourceName, request resource.Quantity,
	allLimits corev1.ResourceList, limits, requests *field.Path) {
	limit, ok := allLimits[name]
	order := request.Cmp(limit)
	switch {
	case !ok && !canOvercommit(name):
		c.required(limits, "Limit must be set for non overcommitable resources")
	case !ok:
	case order != 0 && !canOvercommit(name):
		c.invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))
	case order > 0:
		c.invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))
	}
}

// validateHugePageSize requires a multiple of the page size.
func (c *errorCollector) validateHugePageSize(name corev1.ResourceName, value resource.Quantity, path *field.Path) {
	if !podfields.IsHugePage(name) {
		return
	}
	text := strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if err := quantities.CheckText(text); err != nil { // before it is parsed, which may take long
		c.invalid(path, value.String(), fmt.Sprintf("page size of %.100s: %v", name, err))
		return
	}
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Sign() <= 0 || size.MilliValue()%1000 != 0 || value.Value()%size.Value() != 0 {
		c.invalid(path, value.String(), fmt.Sprintf("%s is not positive integer multiple of %s", value.String(), name))
	}
}

// validateClaimReferences requires that a container references a claim either as a whole or by distinct
// requests.
func (c *podValidator) validateClaimReferences(claims []corev1.ResourceClaim, path *field.Path) {
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
			c.validateDNSLabel(claim.Request, idxPath.Child("request"))
			if requests[claim.Name] == nil {
				requests[claim.Name] = podfields.NameSet{}
			}
			if !requests[claim.Name].Add(claim.Request) {
				c.duplicate(idxPath, claim.Name+"/"+claim.Request)
			}
		}
		if !c.claims.Has(claim.Name) {
			c.addUnknownClaim(claim.Name, idxPath)
		}
	}
}

func (c *podValidator) addUnknownClaim(name string, path *field.Path) {
	err := field.NotFound(path, name)
	err.Detail = "must be one of the names in pod.spec.resourceClaims"
	if c.claims.Len() == 0 {
		err.Detail += " which is empty"
	} else {
		err.Detail += ": " + strings.Join(sets.List(c.claims), ", ")
	}
	c.add(err)
}

// validatePodResourceClaims validates the claims of the pod and records their names.
func (c *podValidator) validatePodResourceClaims(path *field.Path) {
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
			c.validateClaimName(claim, idxPath.Child("name"))
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

// validateClaimName validates the name of a claim in the pod, and the name of the ResourceClaim to be
// generated.
func (c *podValidator) validateClaimName(claim corev1.PodResourceClaim, path *field.Path) {
	n := len(c.errs)
	c.validateDNSLabel(claim.Name, path)
	if len(c.errs) > n || c.meta == nil || claim.ResourceClaimTemplateName == nil {
		return
	}
	generated := c.meta.Name + "-" + claim.Name
	for _, reason := range apivalidation.NameIsDNSSubdomain(generated, false) {
		c.invalid(path, generated, "final ResourceClaim name: "+reason)
	}
}

// validatePodLevelResources validates pod-level resources and compares them with the containers' resources.
func (c *podValidator) validatePodLevelResources(path *field.Path) {
	podResources := c.spec.Resources
	if podResources == nil {
		return
	}
	if podResources.Claims != nil {
		c.forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level")
	}
	c.validateResourceRequirements(podResources, validatePodResourceName, path)
	pod := &corev1.Pod{Spec: *c.spec}
	for name, sum := range podfields.SortedByKey(resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})) {
		request, ok := podResources.Requests[name]
		if ok && sum.Cmp(request) > 0 {
			c.invalid(path.Child("requests").Key(string(name)), request.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String())
		}
	}
	c.validateContainerLimits(path)
}

// validateContainerLimits requires each container limit to be at most the pod limit. Their sum may exceed
// it, except for huge pages, which cannot be overcommitted.
func (c *podValidator) validateContainerLimits(path *field.Path) {
	podResources := c.spec.Resources
	for i, container := range c.spec.Containers {
		for name, limit := range podfields.SortedByKey(container.Resources.Limits) {
			podLimit, ok := podResources.Limits[name]
			if ok && limit.Cmp(podLimit) > 0 {
				c.invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(),
					"must be less than or equal to pod limits of "+podLimit.String())
			}
		}
	}
	pod := &corev1.Pod{Spec: *c.spec}
	for name, sum := range podfields.SortedByKey(resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{})) {
		podLimit, ok := podResources.Limits[name]
		if ok && podfields.IsHugePage(name) && sum.Cmp(podLimit) > 0 {
			c.invalid(path.Child("limits").Key(string(name)), podLimit.String(),
				"must be greater than or equal to aggregate container limits of "+sum.String())
		}
	}
}

func (c *podValidator) validateResizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) {
	var seen []corev1.ResourceName
	for i, policy := range policies {
		if slices.Contains(seen, policy.ResourceName) {
			c.duplicate(path.Index(i), policy.ResourceName)
		}
		seen = append(seen, policy.ResourceName)
		requireOneOf(&c.errorCollector, policy.ResourceName, path, corev1.ResourceCPU, corev1.ResourceMemory)
		requireOneOf(&c.errorCollector, policy.RestartPolicy, path, corev1.NotRequired, corev1.RestartContainer)
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			c.invalid(path, policy.RestartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'")
		}
	}
}
