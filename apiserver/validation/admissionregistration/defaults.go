package admissionregistration

import (
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
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

// DefaultMutatingWebhooks sets the defaults of each webhook. By default, a webhook is not reinvoked.
func DefaultMutatingWebhooks(c *v1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		defaultWebhook(mutatingWebhook(&c.Webhooks[i]))
		defaulting.SetPointer(&c.Webhooks[i].ReinvocationPolicy, v1.NeverReinvocationPolicy)
	}
}

func defaultWebhook(w webhook) {
	defaulting.SetPointer(w.failurePolicy, v1.Fail)
	defaulting.SetPointer(w.matchPolicy, v1.Equivalent)
	defaulting.SetPointer(w.namespaceSelector, metav1.LabelSelector{})
	defaulting.SetPointer(w.objectSelector, metav1.LabelSelector{})
	defaulting.SetPointer(w.timeoutSeconds, defaultTimeoutSeconds)
	if w.clientConfig.Service != nil {
		defaulting.SetPointer(&w.clientConfig.Service.Port, defaultServicePort)
	}
	for i := range w.rules {
		defaulting.SetPointer(&w.rules[i].Scope, v1.AllScopes)
	}
}

// DefaultValidatingPolicy sets the failure policy Fail and the defaults of the match constraints.
func DefaultValidatingPolicy(p *v1.ValidatingAdmissionPolicy) {
	defaulting.SetPointer(&p.Spec.FailurePolicy, v1.Fail)
	defaultMatchResources(p.Spec.MatchConstraints)
}

// DefaultValidatingBinding sets the defaults of the match resources.
func DefaultValidatingBinding(b *v1.ValidatingAdmissionPolicyBinding) {
	defaultMatchResources(b.Spec.MatchResources)
}

// DefaultMutatingPolicy sets the failure policy Fail and the defaults of the match constraints.
func DefaultMutatingPolicy(p *v1.MutatingAdmissionPolicy) {
	defaulting.SetPointer(&p.Spec.FailurePolicy, v1.Fail)
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
	defaulting.SetPointer(&m.MatchPolicy, v1.Equivalent)
	defaulting.SetPointer(&m.NamespaceSelector, metav1.LabelSelector{})
	defaulting.SetPointer(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]v1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			defaulting.SetPointer(&rules[i].Scope, v1.AllScopes)
		}
	}
}
