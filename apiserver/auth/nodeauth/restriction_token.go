package nodeauth

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/berthproject/berth/internal/apierror"
)

// admitToken requires a token request of a node to be bound to one of its pods and to have an
// audience that the pod uses.
func (r *Restriction) admitToken(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create || a.GetSubresource() != "token" {
		return nil
	}
	req, ok := a.GetObject().(*authenticationv1.TokenRequest)
	if !ok {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	ref := req.Spec.BoundObjectRef
	switch {
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return forbid(a, "node requested token not bound to a pod")
	case ref.UID == "":
		return forbid(a, "node requested token with a pod binding without a uid")
	}
	pod, err := r.findPod(ctx, a.GetNamespace(), ref.Name)
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	switch {
	case pod.UID != ref.UID:
		return forbid(a, "the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != node:
		return forbid(a, "node requested token bound to a pod scheduled on a different node")
	}
	return r.admitAudience(ctx, pod, req, a)
}

// admitAudience allows at most one audience. A volume of the pod must request it, or the node
// must be authorized for the verb request-serviceaccounts-token-audience. This limits what a compromised
// node can impersonate. An empty audience stands for the API server.
func (r *Restriction) admitAudience(ctx context.Context, pod *corev1.Pod, req *authenticationv1.TokenRequest, a admission.Attributes) error {
	audience := ""
	switch len(req.Spec.Audiences) {
	case 0:
	case 1:
		audience = req.Spec.Audiences[0]
	default:
		return forbid(a, "node may only request 0 or 1 audiences")
	}
	var errs []error
	for i := range pod.Spec.Volumes {
		provided, err := r.providesAudience(ctx, pod, &pod.Spec.Volumes[i], audience)
		if provided {
			return nil
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return admission.NewForbidden(a, fmt.Errorf("error validating audience %q: %w", audience, err))
	}
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{User: a.GetUserInfo(), Verb: "request-serviceaccounts-token-audience",
		Namespace: a.GetNamespace(), APIVersion: "v1", Resource: audience, Name: a.GetName(), ResourceRequest: true})
	if decision == authorizer.DecisionAllow && err == nil {
		return nil
	}
	return forbid(a, "audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", audience, a.GetUserInfo().GetName())
}

// providesAudience reports whether a volume requests a token for the audience, by a projection or
// by its CSI driver.
func (r *Restriction) providesAudience(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, audience string) (bool, error) {
	for _, source := range projectedSources(v) {
		if source.ServiceAccountToken != nil && source.ServiceAccountToken.Audience == audience {
			return true, nil
		}
	}
	name, err := r.csiDriver(ctx, pod, v)
	if err != nil || name == "" {
		return false, apierror.IgnoreNotFound(err)
	}
	driver, err := r.client.StorageV1().CSIDrivers().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, apierror.IgnoreNotFound(err)
	}
	for _, t := range driver.Spec.TokenRequests {
		if t.Audience == audience {
			return true, nil
		}
	}
	return false, nil
}

// csiDriver returns the name of the CSI driver of a volume, or "".
func (r *Restriction) csiDriver(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	claimName := ""
	switch {
	case v.CSI != nil:
		return v.CSI.Driver, nil
	case v.PersistentVolumeClaim != nil:
		claimName = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		claimName = pod.Name + "-" + v.Name
	default:
		return "", nil
	}
	claim, err := r.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, claimName, metav1.GetOptions{})
	if err != nil || claim.Spec.VolumeName == "" {
		return "", err
	}
	volume, err := r.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Spec.CSI == nil {
		return "", err
	}
	return volume.Spec.CSI.Driver, nil
}
