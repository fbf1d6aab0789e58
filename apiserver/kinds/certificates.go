package kinds

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/certificates"
)

// certificateKinds returns CertificateSigningRequest. controllers/certificates acts on it.
func certificateKinds() []Kind {
	type request = certificatesv1.CertificateSigningRequest
	hooks := typedHooks[*request]{
		PrepareUpdate: certificates.PrepareUpdate, PrepareStatus: certificates.PrepareStatus,
		Validate: certificates.Validate, ValidateUpdate: certificates.ValidateUpdate, ValidateStatus: certificates.ValidateStatusUpdate,
	}.hooks()
	hooks.PrepareCreate = func(ctx context.Context, obj runtime.Object) { certificates.PrepareCreate(ctx, obj.(*request)) }
	return []Kind{{
		GroupVersion: certificatesv1.SchemeGroupVersion, Kind: "CertificateSigningRequest", Resource: "certificatesigningrequests", ShortNames: []string{"csr"},
		New:       func() runtime.Object { return &request{} },
		NewList:   func() runtime.Object { return &certificatesv1.CertificateSigningRequestList{} },
		Hooks:     hooks,
		HasStatus: true,
		UpdateSubresources: map[string]UpdateSubresource{"approval": {
			Prepare: func(_ context.Context, obj, old runtime.Object) {
				certificates.PrepareApproval(obj.(*request), old.(*request))
			},
			Validate: func(_ context.Context, obj, old runtime.Object) field.ErrorList {
				return certificates.ValidateApprovalUpdate(obj.(*request), old.(*request))
			},
			ResetFields: []string{"spec", "status.certificate"},
		}},
		Fields: func(obj runtime.Object) fields.Set {
			return fields.Set{"spec.signerName": obj.(*request).Spec.SignerName}
		},
	}}
}
