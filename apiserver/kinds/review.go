package kinds

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// reviewKinds returns virtual kinds, which are evaluated and never stored.
func reviewKinds() []Kind {
	authn, authz := authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion
	return []Kind{
		{GroupVersion: v1, Kind: "Binding", Resource: "bindings", Namespaced: true, Virtual: true, New: func() runtime.Object { return &corev1.Binding{} }},
		{GroupVersion: authn, Kind: "TokenReview", Resource: "tokenreviews", Virtual: true, New: func() runtime.Object { return &authenticationv1.TokenReview{} }},
		{GroupVersion: authn, Kind: "SelfSubjectReview", Resource: "selfsubjectreviews", Virtual: true, New: func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }},
		{GroupVersion: authz, Kind: "SubjectAccessReview", Resource: "subjectaccessreviews", Virtual: true, New: func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }},
		{GroupVersion: authz, Kind: "SelfSubjectAccessReview", Resource: "selfsubjectaccessreviews", Virtual: true, New: func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }},
		{GroupVersion: authz, Kind: "SelfSubjectRulesReview", Resource: "selfsubjectrulesreviews", Virtual: true, New: func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }},
		{GroupVersion: authz, Kind: "LocalSubjectAccessReview", Resource: "localsubjectaccessreviews", Namespaced: true, Virtual: true, New: func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} }},
	}
}
