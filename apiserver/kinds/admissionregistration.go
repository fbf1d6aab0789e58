package kinds

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	validation "github.com/berthproject/berth/apiserver/validation/admissionregistration"
)

// admissionKinds returns the kinds of admissionregistration.k8s.io.
func admissionKinds() []Kind {
	return append(webhookKinds(), admissionPolicyKinds()...)
}

func webhookKinds() []Kind {
	gv := admissionregistrationv1.SchemeGroupVersion
	categories := []string{"api-extensions"}
	return []Kind{
		{
			GroupVersion: gv, Kind: "ValidatingWebhookConfiguration", Resource: "validatingwebhookconfigurations", Categories: categories,
			New:     func() runtime.Object { return &admissionregistrationv1.ValidatingWebhookConfiguration{} },
			NewList: func() runtime.Object { return &admissionregistrationv1.ValidatingWebhookConfigurationList{} },
			Hooks: typedHooks[*admissionregistrationv1.ValidatingWebhookConfiguration]{
				Default:  validation.DefaultValidatingWebhooks,
				Validate: validation.ValidateValidatingWebhooks, ValidateUpdate: validation.ValidateValidatingWebhooksUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "MutatingWebhookConfiguration", Resource: "mutatingwebhookconfigurations", Categories: categories,
			New:     func() runtime.Object { return &admissionregistrationv1.MutatingWebhookConfiguration{} },
			NewList: func() runtime.Object { return &admissionregistrationv1.MutatingWebhookConfigurationList{} },
			Hooks: typedHooks[*admissionregistrationv1.MutatingWebhookConfiguration]{
				Default:  validation.DefaultMutatingWebhooks,
				Validate: validation.ValidateMutatingWebhooks, ValidateUpdate: validation.ValidateMutatingWebhooksUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
	}
}

func admissionPolicyKinds() []Kind {
	gv := admissionregistrationv1.SchemeGroupVersion
	categories := []string{"api-extensions"}
	return []Kind{
		{
			GroupVersion: gv, Kind: "ValidatingAdmissionPolicy", Resource: "validatingadmissionpolicies", Categories: categories,
			New:     func() runtime.Object { return &admissionregistrationv1.ValidatingAdmissionPolicy{} },
			NewList: func() runtime.Object { return &admissionregistrationv1.ValidatingAdmissionPolicyList{} },
			Hooks: typedHooks[*admissionregistrationv1.ValidatingAdmissionPolicy]{
				Default:  validation.DefaultValidatingPolicy,
				Validate: validation.ValidateValidatingPolicy, ValidateUpdate: validation.ValidateValidatingPolicyUpdate,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "ValidatingAdmissionPolicyBinding", Resource: "validatingadmissionpolicybindings", Categories: categories,
			New:     func() runtime.Object { return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{} },
			NewList: func() runtime.Object { return &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{} },
			Hooks: typedHooks[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
				Default:  validation.DefaultValidatingBinding,
				Validate: validation.ValidateValidatingBinding, ValidateUpdate: validation.ValidateValidatingBindingUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "MutatingAdmissionPolicy", Resource: "mutatingadmissionpolicies", Categories: categories,
			New:     func() runtime.Object { return &admissionregistrationv1.MutatingAdmissionPolicy{} },
			NewList: func() runtime.Object { return &admissionregistrationv1.MutatingAdmissionPolicyList{} },
			Hooks: typedHooks[*admissionregistrationv1.MutatingAdmissionPolicy]{
				Default:  validation.DefaultMutatingPolicy,
				Validate: validation.ValidateMutatingPolicy, ValidateUpdate: validation.ValidateMutatingPolicyUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "MutatingAdmissionPolicyBinding", Resource: "mutatingadmissionpolicybindings", Categories: categories,
			New:     func() runtime.Object { return &admissionregistrationv1.MutatingAdmissionPolicyBinding{} },
			NewList: func() runtime.Object { return &admissionregistrationv1.MutatingAdmissionPolicyBindingList{} },
			Hooks: typedHooks[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
				Default:  validation.DefaultMutatingBinding,
				Validate: validation.ValidateMutatingBinding, ValidateUpdate: validation.ValidateMutatingBindingUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
	}
}
