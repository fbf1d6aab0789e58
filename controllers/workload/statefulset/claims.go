package statefulset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/controllers/podtemplate"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/engine/workload"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// createClaims creates the missing claims of an ordinal. It returns errStaleClaim if one is about to be deleted.
func (c *controller) createClaims(ctx context.Context, set *appsv1.StatefulSet, ordinal int32) error {
	for _, claim := range podtemplate.Claims(set, ordinal) {
		existing, err := c.claims.PersistentVolumeClaims(claim.Namespace).Get(claim.Name)
		switch {
		case err == nil && isStaleClaim(existing, podtemplate.StatefulPodName(set.Name, ordinal)):
			return errStaleClaim
		case err == nil:
			continue
		case !apierrors.IsNotFound(err):
			return err
		}
		claim.OwnerReferences = claimOwners(set, nil, nil, false)
		_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		switch pod := podtemplate.StatefulPodName(set.Name, ordinal); {
		case err == nil:
			c.events.Eventf(set, corev1.EventTypeNormal, workloadcontroller.SuccessfulCreate, "create Claim %s Pod %s in StatefulSet %s success", claim.Name, pod, set.Name)
		case apierrors.IsAlreadyExists(err):
		default:
			if !workloadcontroller.IsNamespaceTerminating(err) {
				c.events.Eventf(set, corev1.EventTypeWarning, workloadcontroller.FailedCreate, "create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim.Name, pod, set.Name, err)
			}
			return fmt.Errorf("creating claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
	}
	return nil
}

// isStaleClaim reports whether a claim is being deleted, or is owned by an earlier pod of that name, with which it
// will be deleted. It applies only while no pod of that name exists.
func isStaleClaim(c *corev1.PersistentVolumeClaim, pod string) bool {
	return c.DeletionTimestamp != nil || slices.ContainsFunc(c.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.APIVersion == "v1" && r.Kind == podKind.Kind && r.Name == pod
	})
}

// syncClaims sets the owners of claims according to the retention policy and labels adopted pods. It creates claims
// that pods wait for. scaled are the indexes of surplus pods. unsynced are the indexes of pods whose claims do not
// have their owners yet.
func (c *controller) syncClaims(ctx context.Context, set *appsv1.StatefulSet, pods []*corev1.Pod, observed []workload.StatefulPod, scaled []int) (unsynced []int, err error) {
	var errs []error
	for i, p := range pods {
		scaledDown := slices.Contains(scaled, i)
		if !scaledDown {
			errs = append(errs, c.setIdentity(ctx, set, p, observed[i].Ordinal))
			if p.Status.Phase == corev1.PodPending && p.Spec.NodeName == "" && p.UID != "" && p.DeletionTimestamp == nil {
				if err := c.createClaims(ctx, set, observed[i].Ordinal); !errors.Is(err, errStaleClaim) {
					errs = append(errs, err)
				}
			}
		}
		for _, claim := range podtemplate.Claims(set, observed[i].Ordinal) {
			if p.UID == "" {
				continue
			}
			if err := c.syncClaim(ctx, set, p, claim.Name, scaledDown); err != nil {
				errs, unsynced = append(errs, err), append(unsynced, i)
			}
		}
	}
	return unsynced, errors.Join(errs...)
}

func (c *controller) syncClaim(ctx context.Context, set *appsv1.StatefulSet, p *corev1.Pod, name string, scaledDown bool) error {
	claim, err := c.claims.PersistentVolumeClaims(set.Namespace).Get(name)
	if apierrors.IsNotFound(err) && scaledDown { // the cache may lag, and no later reconciliation reads the claim
		claim, err = c.client.CoreV1().PersistentVolumeClaims(set.Namespace).Get(ctx, name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading claim %s/%s: %w", set.Namespace, name, err)
	case claim.DeletionTimestamp != nil:
		return nil
	}
	refs := claimOwners(set, p, claim.OwnerReferences, scaledDown)
	if equality.Semantic.DeepEqual(refs, claim.OwnerReferences) {
		return nil
	}
	claim = claim.DeepCopy()
	claim.OwnerReferences = refs
	_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("changing the owners of claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

// claimOwners returns the owner references of a claim: the StatefulSet or the pod, if the claim is to be deleted with
// it. Only a surplus pod can be an owner. It keeps other owners.
func claimOwners(set *appsv1.StatefulSet, pod *corev1.Pod, owners []metav1.OwnerReference, scaledDown bool) []metav1.OwnerReference {
	withSet, withPod := false, false
	if r := set.Spec.PersistentVolumeClaimRetentionPolicy; r != nil {
		withSet = r.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		withPod = scaledDown && r.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	uids := []types.UID{set.UID}
	if pod != nil {
		uids = append(uids, pod.UID)
	}
	out := slices.DeleteFunc(slices.Clone(owners), func(r metav1.OwnerReference) bool { return slices.Contains(uids, r.UID) })
	switch {
	case withPod:
		out = append(out, metav1.OwnerReference{APIVersion: "v1", Kind: podKind.Kind, Name: pod.Name, UID: pod.UID})
	case withSet:
		out = append(out, metav1.OwnerReference{APIVersion: Kind.GroupVersion().String(), Kind: Kind.Kind, Name: set.Name, UID: set.UID})
	}
	return out
}
