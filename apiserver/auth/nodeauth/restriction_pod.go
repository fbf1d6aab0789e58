package nodeauth

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func (r *Restriction) admitPod(ctx context.Context, node string, a admission.Attributes) error {
	switch a.GetSubresource() {
	case "":
		if a.GetOperation() == admission.Create {
			return r.admitMirrorPod(ctx, node, a)
		}
		if a.GetOperation() == admission.Delete {
			return admitPodDelete(node, a)
		}
		return forbid(a, "unexpected operation %q, node %q can only create and delete mirror pods", a.GetOperation(), node)
	case "status":
		return admitPodStatus(node, a)
	case "eviction":
		return r.admitEviction(ctx, node, a)
	}
	return forbid(a, "unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.GetSubresource())
}

// admitMirrorPod allows a node to create mirror pods that reference no other objects: every
// reference would grant the node access.
func (r *Restriction) admitMirrorPod(ctx context.Context, node string, a admission.Attributes) error {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; !ok {
		return forbid(a, "pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node)
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %q can only create pods with spec.nodeName set to itself", node)
	}
	if refs := references(pod); len(refs) > 0 {
		return forbid(a, "node %q can not create pods that reference %s", node, refs[0].kind)
	}
	for i := range pod.Spec.Volumes {
		for _, source := range projectedSources(&pod.Spec.Volumes[i]) {
			if source.ServiceAccountToken != nil {
				return forbid(a, "node %q can not create pods that reference serviceaccounts", node)
			}
		}
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		return forbid(a, "node %q can not create pods that reference resourceclaims", node)
	}
	return r.admitOwnerReference(ctx, node, pod, a)
}

// admitOwnerReference requires the node, identified by UID, as the only owner of a mirror pod.
func (r *Restriction) admitOwnerReference(ctx context.Context, node string, pod *corev1.Pod, a admission.Attributes) error {
	if len(pod.OwnerReferences) > 1 {
		return forbid(a, "node %q can only create pods with a single owner reference set to itself", node)
	}
	if len(pod.OwnerReferences) == 0 {
		return forbid(a, "node %q can only create pods with an owner reference set to itself", node)
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return forbid(a, "node %q can only create pods with an owner reference set to itself", node)
	case owner.Controller == nil || !*owner.Controller:
		return forbid(a, "node %q can only create pods with a controller owner reference set to itself", node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return forbid(a, "node %q must not set blockOwnerDeletion on an owner reference", node)
	}
	n, err := r.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return err
	}
	if err != nil {
		return forbid(a, "error looking up node %s to verify uid: %w", node, err)
	}
	if owner.UID != n.UID {
		return forbid(a, "node %s UID mismatch: expected %s got %s", node, n.UID, owner.UID)
	}
	return nil
}

func projectedSources(v *corev1.Volume) []corev1.VolumeProjection {
	if v.Projected == nil {
		return nil
	}
	return v.Projected.Sources
}

func admitPodDelete(node string, a admission.Attributes) error {
	// deletecollection has no old object. Nodes are not authorized for it.
	pod, ok := a.GetOldObject().(*corev1.Pod)
	if !ok {
		return forbid(a, "unexpected type %T", a.GetOldObject())
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %q can only delete pods with spec.nodeName set to itself", node)
	}
	return nil
}

func admitPodStatus(node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Update {
		return forbid(a, "unexpected operation %q", a.GetOperation())
	}
	oldPod, oldOK := a.GetOldObject().(*corev1.Pod)
	newPod, newOK := a.GetObject().(*corev1.Pod)
	if !oldOK || !newOK {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	if oldPod.Spec.NodeName != node {
		return forbid(a, "node %q can only update pod status for pods with spec.nodeName set to itself", node)
	}
	if !equality.Semantic.DeepEqual(oldPod.Labels, newPod.Labels) {
		return forbid(a, "node %q cannot update labels through pod status", node)
	}
	// The node could read a claim that it names in the status.
	if !equality.Semantic.DeepEqual(oldPod.Status.ResourceClaimStatuses, newPod.Status.ResourceClaimStatuses) {
		return forbid(a, "node %q cannot update resource claim statuses", node)
	}
	return nil
}

func (r *Restriction) admitEviction(ctx context.Context, node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create {
		return forbid(a, "unexpected operation %s", a.GetOperation())
	}
	eviction, ok := a.GetObject().(*policyv1.Eviction)
	if !ok {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	name := eviction.Name
	if name == "" {
		name = a.GetName()
	}
	if name == "" {
		return forbid(a, "could not determine pod from request data")
	}
	if a.GetName() != "" && name != a.GetName() {
		return forbid(a, "eviction of pod %q was posted to pod %q", name, a.GetName())
	}
	pod, err := r.findPod(ctx, a.GetNamespace(), name)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %s can only evict pods with spec.nodeName set to itself", node)
	}
	return nil
}

// findPod reads a pod from the informer cache and falls back to the server.
func (r *Restriction) findPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if !r.WaitForReady() {
		return nil, errNotReady
	}
	pod, err := r.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && pod.Spec.NodeName == "" {
		return r.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	return pod, err
}
