package tables

import (
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func admissionTable(resource schema.GroupResource) (Table, bool) {
	webhooks := integerColumn("Webhooks", "Number of webhooks.")
	paramKind, paramRef := stringColumn("ParamKind", "Kind of the parameters."), stringColumn("ParamRef", "Parameters of the policy.")
	policyName := stringColumn("PolicyName", "Bound policy.")
	switch resource {
	case v1.Resource("validatingwebhookconfigurations"):
		return newTable(func(c *v1.ValidatingWebhookConfiguration) []any {
			return []any{c.Name, int64(len(c.Webhooks)), age(&c.ObjectMeta)}
		}, nameColumn(), webhooks, ageColumn())
	case v1.Resource("mutatingwebhookconfigurations"):
		return newTable(func(c *v1.MutatingWebhookConfiguration) []any {
			return []any{c.Name, int64(len(c.Webhooks)), age(&c.ObjectMeta)}
		}, nameColumn(), webhooks, ageColumn())
	case v1.Resource("validatingadmissionpolicies"):
		return newTable(func(p *v1.ValidatingAdmissionPolicy) []any {
			return []any{p.Name, int64(len(p.Spec.Validations)), paramKindCell(p.Spec.ParamKind), age(&p.ObjectMeta)}
		}, nameColumn(), integerColumn("Validations", "Number of validations."), paramKind, ageColumn())
	case v1.Resource("validatingadmissionpolicybindings"):
		return newTable(func(b *v1.ValidatingAdmissionPolicyBinding) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef), age(&b.ObjectMeta)}
		}, nameColumn(), policyName, paramRef, ageColumn())
	case v1.Resource("mutatingadmissionpolicies"):
		return newTable(func(p *v1.MutatingAdmissionPolicy) []any {
			return []any{p.Name, int64(len(p.Spec.Mutations)), paramKindCell(p.Spec.ParamKind), age(&p.ObjectMeta)}
		}, nameColumn(), integerColumn("Mutations", "Number of mutations."), paramKind, ageColumn())
	case v1.Resource("mutatingadmissionpolicybindings"):
		return newTable(func(b *v1.MutatingAdmissionPolicyBinding) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef), age(&b.ObjectMeta)}
		}, nameColumn(), policyName, paramRef, ageColumn())
	}
	return Table{}, false
}

func paramKindCell(kind *v1.ParamKind) string {
	if kind == nil {
		return "<unset>"
	}
	return kind.APIVersion + "/" + kind.Kind
}

// paramRefCell returns NAMESPACE/NAME, with "*" for a selector.
func paramRefCell(ref *v1.ParamRef) string {
	if ref == nil {
		return "<unset>"
	}
	name := ref.Name
	if name == "" {
		name = "*"
	}
	if ref.Namespace != "" {
		return ref.Namespace + "/" + name
	}
	return name
}
