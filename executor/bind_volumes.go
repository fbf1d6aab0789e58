package executor

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// bindVolumes reserves volumes for the pod's claims and requests provisioning of the others on the node. Each object is
// read first, so that a repeated effect does not write again, and is written with the resource version that was
// read. If a later claim is refused, earlier writes stay: the volume gets bound to its claim, and the pod is placed
// accordingly, as in kube-scheduler.
func (x *Executor) bindVolumes(ctx context.Context, e scheduling.BindVolumes) scheduling.Outcome {
	for i := range e.Plan.Bind {
		if out := x.reserveVolume(ctx, &e.Plan.Bind[i]); out.Result != scheduling.Done {
			return out
		}
	}
	for _, claim := range e.Plan.Provision {
		if out := x.selectNode(ctx, claim, e.Node); out.Result != scheduling.Done {
			return out
		}
	}
	return scheduling.Outcome{Result: scheduling.Done}
}

// reserveVolume sets the claimRef of a volume.
func (x *Executor) reserveVolume(ctx context.Context, b *model.ClaimVolume) scheduling.Outcome {
	volumes, claim := x.o.Client.CoreV1().PersistentVolumes(), b.Claim
	v, err := volumes.Get(ctx, b.Volume.Name, metav1.GetOptions{})
	if err != nil {
		return outcome(err)
	}
	ref := v.Spec.ClaimRef
	switch {
	case ref != nil && string(ref.UID) == claim.UID && ref.Namespace == claim.Namespace && ref.Name == claim.Name:
		return scheduling.Outcome{Result: scheduling.Done}
	case ref != nil && (ref.UID != "" || ref.Namespace != claim.Namespace || ref.Name != claim.Name):
		return conflictf("persistentvolume %q is reserved for persistentvolumeclaim %s/%s", v.Name, ref.Namespace, ref.Name)
	case v.ResourceVersion != b.Volume.ResourceVersion:
		return conflictf("persistentvolume %q has changed since it was selected", v.Name)
	}
	meta := map[string]any{"uid": v.UID, "resourceVersion": v.ResourceVersion}
	if ref == nil { // keep a reservation that names the claim
		meta["annotations"] = map[string]string{volume.AnnBoundByController: "yes"}
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta, "spec": map[string]any{"claimRef": corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name,
		UID: types.UID(claim.UID), ResourceVersion: claim.ResourceVersion,
	}}})
	if err == nil {
		_, err = volumes.Patch(ctx, v.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return outcome(err)
}

// selectNode sets the selected-node annotation of a claim for its provisioner.
func (x *Executor) selectNode(ctx context.Context, claim *model.PersistentVolumeClaim, node string) scheduling.Outcome {
	claims := x.o.Client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	c, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil {
		return outcome(err)
	}
	selected, ok := c.Annotations[volume.AnnSelectedNode]
	switch {
	case string(c.UID) != claim.UID || c.DeletionTimestamp != nil:
		return conflictf("persistentvolumeclaim %s/%s was deleted or replaced since the pod was placed", claim.Namespace, claim.Name)
	case c.Spec.VolumeName != "" || ok && selected == node:
		return scheduling.Outcome{Result: scheduling.Done}
	case ok:
		return conflictf("persistentvolumeclaim %s/%s is to be provisioned for node %q", claim.Namespace, claim.Name, selected)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": c.UID, "resourceVersion": c.ResourceVersion, "annotations": map[string]string{volume.AnnSelectedNode: node}}})
	if err == nil {
		_, err = claims.Patch(ctx, c.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return outcome(err)
}

func conflictf(format string, args ...any) scheduling.Outcome {
	return scheduling.Outcome{Result: scheduling.Conflict, Reason: fmt.Sprintf(format, args...)}
}
