package admissionregistration

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	webhookclient "k8s.io/apiserver/pkg/util/webhook"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const maxTimeoutSeconds = 30

// reviewVersions are the versions of AdmissionReview that the server can send.
var reviewVersions = []string{"v1", "v1beta1"}

// webhook has pointers to the fields that both kinds of webhooks have.
type webhook struct {
	name                              string
	clientConfig                      *v1.WebhookClientConfig
	rules                             []v1.RuleWithOperations
	failurePolicy                     **v1.FailurePolicyType
	matchPolicy                       **v1.MatchPolicyType
	namespaceSelector, objectSelector **metav1.LabelSelector
	sideEffects                       *v1.SideEffectClass
	timeoutSeconds                    **int32
	reviewVersions                    []string
	matchConditions                   []v1.MatchCondition
}

func validatingWebhook(w *v1.ValidatingWebhook) webhook {
	return webhook{w.Name, &w.ClientConfig, w.Rules, &w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector,
		w.SideEffects, &w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions}
}

func mutatingWebhook(w *v1.MutatingWebhook) webhook {
	return webhook{w.Name, &w.ClientConfig, w.Rules, &w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector,
		w.SideEffects, &w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions}
}

// ValidateValidatingWebhooks validates a new configuration.
func ValidateValidatingWebhooks(c *v1.ValidatingWebhookConfiguration) field.ErrorList {
	return validateWebhooks(&c.ObjectMeta, validatingWebhooks(c), nil)
}

// ValidateValidatingWebhooksUpdate validates an update. Unchanged expressions are not rejected.
func ValidateValidatingWebhooksUpdate(c, old *v1.ValidatingWebhookConfiguration) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateWebhooks(&c.ObjectMeta, validatingWebhooks(c), validatingWebhooks(old))...)
}

// ValidateMutatingWebhooks validates a new configuration.
func ValidateMutatingWebhooks(c *v1.MutatingWebhookConfiguration) field.ErrorList {
	return append(validateWebhooks(&c.ObjectMeta, mutatingWebhooks(c), nil), validateReinvocationPolicies(c)...)
}

// ValidateMutatingWebhooksUpdate validates an update. Unchanged expressions are not rejected.
func ValidateMutatingWebhooksUpdate(c, old *v1.MutatingWebhookConfiguration) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateWebhooks(&c.ObjectMeta, mutatingWebhooks(c), mutatingWebhooks(old))...)
	return append(errs, validateReinvocationPolicies(c)...)
}

func validatingWebhooks(c *v1.ValidatingWebhookConfiguration) (list []webhook) {
	for i := range c.Webhooks {
		list = append(list, validatingWebhook(&c.Webhooks[i]))
	}
	return list
}

func mutatingWebhooks(c *v1.MutatingWebhookConfiguration) (list []webhook) {
	for i := range c.Webhooks {
		list = append(list, mutatingWebhook(&c.Webhooks[i]))
	}
	return list
}

func validateReinvocationPolicies(c *v1.MutatingWebhookConfiguration) (errs field.ErrorList) {
	for i := range c.Webhooks {
		if policy := c.Webhooks[i].ReinvocationPolicy; policy != nil {
			errs = append(errs, checks.OneOf(*policy, field.NewPath("webhooks").Index(i).Child("reinvocationPolicy"), v1.IfNeededReinvocationPolicy, v1.NeverReinvocationPolicy)...)
		}
	}
	return errs
}

func validateWebhooks(meta *metav1.ObjectMeta, list, old []webhook) field.ErrorList {
	errs := checks.ObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain)
	accepted := sets.New[string]()
	for _, w := range old {
		for _, c := range w.matchConditions {
			accepted.Insert(c.Expression)
		}
	}
	names := sets.New[string]()
	for i, w := range list {
		path := field.NewPath("webhooks").Index(i)
		if names.Has(w.name) {
			errs = append(errs, field.Duplicate(path.Child("name"), w.name))
		}
		names.Insert(w.name)
		errs = append(errs, validateWebhook(w, accepted, path)...)
	}
	return errs
}

func validateWebhook(w webhook, accepted sets.Set[string], path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), w.name)
	errs = append(errs, validateClientConfig(w.clientConfig, path.Child("clientConfig"))...)
	for i := range w.rules {
		errs = append(errs, validateRule(&w.rules[i], path.Child("rules").Index(i))...)
	}
	if p := *w.failurePolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, path.Child("failurePolicy"), v1.Fail, v1.Ignore)...)
	}
	if p := *w.matchPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, path.Child("matchPolicy"), v1.Equivalent, v1.Exact)...)
	}
	if w.sideEffects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	} else {
		errs = append(errs, checks.OneOf(*w.sideEffects, path.Child("sideEffects"), v1.SideEffectClassNone, v1.SideEffectClassNoneOnDryRun)...)
	}
	if seconds := *w.timeoutSeconds; seconds != nil && (*seconds < 1 || *seconds > maxTimeoutSeconds) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *seconds, fmt.Sprintf("the timeout value must be between 1 and %d seconds", maxTimeoutSeconds)))
	}
	errs = append(errs, validateSelectors(*w.namespaceSelector, *w.objectSelector, path)...)
	errs = append(errs, validateReviewVersionList(w.reviewVersions, path.Child("admissionReviewVersions"))...)
	return append(errs, validateMatchConditions(w.matchConditions, newCompiler(accepted), path.Child("matchConditions"))...)
}

func validateSelectors(namespaces, objects *metav1.LabelSelector, path *field.Path) (errs field.ErrorList) {
	if namespaces != nil {
		errs = append(errs, checks.LabelSelector(namespaces, false, path.Child("namespaceSelector"))...)
	}
	if objects != nil {
		errs = append(errs, checks.LabelSelector(objects, false, path.Child("objectSelector"))...)
	}
	return errs
}

func validateClientConfig(c *v1.WebhookClientConfig, path *field.Path) field.ErrorList {
	if (c.URL == nil) == (c.Service == nil) {
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	}
	if c.URL != nil {
		return webhookclient.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	}
	port := int32(defaultServicePort)
	if c.Service.Port != nil {
		port = *c.Service.Port
	}
	return webhookclient.ValidateWebhookService(path.Child("service"), c.Service.Namespace, c.Service.Name, c.Service.Path, port)
}

// validateReviewVersionList requires unique version names, of which the server can send at least one.
func validateReviewVersionList(versions []string, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must specify one of %v", reviewVersions))}
	}
	var errs field.ErrorList
	supported := false
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			errs = append(errs, field.Invalid(path.Index(i), version, "duplicate version"))
		}
		errs = append(errs, checks.InvalidEach(path.Index(i), version, validation.IsDNS1035Label(version))...)
		supported = supported || slices.Contains(reviewVersions, version)
	}
	if !supported {
		errs = append(errs, field.Invalid(path, versions, fmt.Sprintf("must include at least one of %v", reviewVersions)))
	}
	return errs
}
