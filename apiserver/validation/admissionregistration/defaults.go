package admissionregistration

import (
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	defaultTimeoutSeconds = 10
	defaultServicePort    = 443
)

// DefaultValidatingWebhooks sets the defaults of each webhook.
func DefaultValidatingWebhooks(c *v1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		defaultWebhook(validatingWebhook(&c.Webhooks[i]))
	}
}

// DefaultMutatingWebhooks sets the defaults of each webhook. Webhooks are not reinvoked.
func DefaultMutatingWebhooks(c *v1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		defaultWebhook(mutatingWebhook(&c.Webhooks[i]))
		checks.SetDefaultPointer(&c.Webhooks[i].ReinvocationPolicy, v1.NeverReinvocationPolicy)
	}
}

func defaultWebhook(w webhook) {
	checks.SetDefaultPointer(w.failurePolicy, v1.Fail)
	checks.SetDefaultPointer(w.matchPolicy, v1.Equivalent)
	checks.SetDefaultPointer(w.namespaceSelector, metav1.LabelSelector{})
	checks.SetDefaultPointer(w.objectSelector, metav1.LabelSelector{})
	checks.SetDefaultPointer(w.timeoutSeconds, defaultTimeoutSeconds)
	if w.clientConfig.Service != nil {
		checks.SetDefaultPointer(&w.clientConfig.Service.Port, defaultServicePort)
	}
	for i := range w.rules {
		checks.SetDefaultPointer(&w.rules[i].Scope, v1.AllScopes)
	}
}

// DefaultValidatingPolicy sets the failure policy Fail and the defaults of the match constraints.
func DefaultValidatingPolicy(p *v1.ValidatingAdmissionPolicy) {
	checks.SetDefaultPointer(&p.Spec.FailurePolicy, v1.Fail)
	defaultMatchResources(p.Spec.MatchConstraints)
}

// DefaultValidatingBinding sets the defaults of the match resources.
func DefaultValidatingBinding(b *v1.ValidatingAdmissionPolicyBinding) {
	defaultMatchResources(b.Spec.MatchResources)
}

// DefaultMutatingPolicy sets the failure policy Fail and the defaults of the match constraints.
func DefaultMutatingPolicy(p *v1.MutatingAdmissionPolicy) {
	checks.SetDefaultPointer(&p.Spec.FailurePolicy, v1.Fail)
	defaultMatchResources(p.Spec.MatchConstraints)
}

// DefaultMutatingBinding sets the defaults of the match resources.
func DefaultMutatingBinding(b *v1.MutatingAdmissionPolicyBinding) {
	defaultMatchResources(b.Spec.MatchResources)
}

func defaultMatchResources(m *v1.MatchResources) {
	if m == nil {
		return
	}
	checks.SetDefaultPointer(&m.MatchPolicy, v1.Equivalent)
	checks.SetDefaultPointer(&m.NamespaceSelector, metav1.LabelSelector{})
	checks.SetDefaultPointer(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]v1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			checks.SetDefaultPointer(&rules[i].Scope, v1.AllScopes)
		}
	}
}
