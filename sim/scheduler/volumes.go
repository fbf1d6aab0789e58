package scheduler

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// SelectedNodeAnnotation is the annotation that passes the node to a provisioner.
const SelectedNodeAnnotation = "volume.kubernetes.io/selected-node"

// bindVolumesWrites returns the writes that bind claims to volumes and select nodes for
// provisioning.
func bindVolumesWrites(e scheduling.BindVolumes) []write {
	var writes []write
	for _, b := range e.Plan.Bind {
		writes = append(writes, writeStep(func(r *request) error { return r.bindClaim(b) }))
	}
	for _, c := range e.Plan.Provision {
		writes = append(writes, writeStep(func(r *request) error { return r.selectNode(c, e.Node) }))
	}
	if len(writes) == 0 {
		writes = append(writes, func(*request) bool { return true })
	}
	return writes
}

// bindClaim reserves a volume for a claim; the volume controller completes the binding.
func (r *request) bindClaim(b model.ClaimVolume) error {
	w := r.s.w
	return w.API().Update(store.PersistentVolumes, b.Volume.Name, store.Precondition{}, func(o store.Object) error {
		v, ok := o.(*corev1.PersistentVolume)
		if !ok {
			return fmt.Errorf("object %s of type %T is not a PersistentVolume", b.Volume.Name, o)
		}
		if ref := v.Spec.ClaimRef; ref != nil {
			if string(ref.UID) == b.Claim.UID {
				return store.ErrUnchanged
			}
			return apierrors.NewConflict(corev1.Resource("persistentvolumes"), v.Name, fmt.Errorf("the volume is bound to claim %s/%s", ref.Namespace, ref.Name))
		}
		v.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: b.Claim.Namespace, Name: b.Claim.Name, UID: types.UID(b.Claim.UID)}
		w.Log("scheduler", "prepare", r.pod.Key(), fmt.Sprintf("claim %s/%s of %s is bound to volume %s", b.Claim.Namespace, b.Claim.Name, r.pod.Key(), v.Name))
		return nil
	})
}

// selectNode makes the provisioner create a volume for a claim on a node.
func (r *request) selectNode(c *model.PersistentVolumeClaim, node string) error {
	w := r.s.w
	return w.API().Update(store.PersistentVolumeClaims, store.Key(c.Namespace, c.Name), store.Precondition{UID: c.UID}, func(o store.Object) error {
		if o.GetAnnotations()[SelectedNodeAnnotation] == node {
			return store.ErrUnchanged
		}
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[SelectedNodeAnnotation] = node
		o.SetAnnotations(annotations)
		w.Log("scheduler", "prepare", r.pod.Key(), fmt.Sprintf("claim %s/%s of %s is bound to a new volume on %s", c.Namespace, c.Name, r.pod.Key(), node))
		return nil
	})
}
