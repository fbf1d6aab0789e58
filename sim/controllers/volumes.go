package controllers

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// volumes is the volume controller and provisioner: it binds claims to volumes that reference
// them, and creates volumes for claims with a selected node.
type volumes struct {
	*sim.Client
	w *sim.World
}

// provisionDuration is the time to create a volume.
const provisionDuration = 2 * time.Second

// StartVolumes starts the volume controller and provisioner.
func StartVolumes(w *sim.World) {
	v := &volumes{w: w}
	v.Client = w.NewClient("volumes", v, store.PersistentVolumes, store.PersistentVolumeClaims)
	v.Start()
}

// OnStop implements sim.Controller.
func (*volumes) OnStop() {}

// OnSynced implements sim.Controller.
func (v *volumes) OnSynced() {
	for _, k := range []store.Kind{store.PersistentVolumes, store.PersistentVolumeClaims} {
		for _, key := range v.Keys(k) {
			v.observe(v.Cached(k)[key])
		}
	}
}

// OnChange implements sim.Controller.
func (v *volumes) OnChange(_ store.Kind, _, current store.Object) {
	if current != nil {
		v.observe(current)
	}
}

func (v *volumes) observe(o store.Object) {
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		if ref := o.Spec.ClaimRef; ref != nil {
			v.bind(store.Key(ref.Namespace, ref.Name), string(ref.UID), o.Name)
		}
	case *corev1.PersistentVolumeClaim:
		if node := o.Annotations[scheduler.SelectedNodeAnnotation]; node != "" && o.Spec.VolumeName == "" {
			v.After(provisionDuration, func() { v.provision(store.KeyOf(o), node) })
		}
	}
}

// bind completes the binding of a claim.
func (v *volumes) bind(claim, uid, volume string) {
	_ = v.w.API().Update(store.PersistentVolumeClaims, claim, store.Precondition{UID: uid}, func(o store.Object) error {
		c, ok := o.(*corev1.PersistentVolumeClaim)
		if !ok || c.Spec.VolumeName != "" {
			return store.ErrUnchanged
		}
		c.Spec.VolumeName = volume
		c.Status.Phase = corev1.ClaimBound
		c.Annotations = maps.Clone(c.Annotations)
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		v.w.Log("volumes", "bound", claim, fmt.Sprintf("claim %s is bound to volume %s", claim, volume))
		return nil
	})
	_ = v.w.API().Update(store.PersistentVolumes, volume, store.Precondition{}, func(o store.Object) error {
		pv, ok := o.(*corev1.PersistentVolume)
		if !ok || pv.Status.Phase == corev1.VolumeBound {
			return store.ErrUnchanged
		}
		pv.Status.Phase = corev1.VolumeBound
		return nil
	})
}

// provision creates a volume on the selected node if the claim still needs one.
func (v *volumes) provision(claim, node string) {
	o, exists := v.w.API().Get(store.PersistentVolumeClaims, claim)
	c, ok := o.(*corev1.PersistentVolumeClaim)
	if !exists || !ok || c.Spec.VolumeName != "" || c.Annotations[scheduler.SelectedNodeAnnotation] != node || c.Spec.StorageClassName == nil {
		return
	}
	sc, _ := v.w.API().Get(store.StorageClasses, *c.Spec.StorageClassName)
	if class, ok := sc.(*storagev1.StorageClass); !ok || class.Provisioner == "kubernetes.io/no-provisioner" {
		return
	}
	name := "pvc-" + c.Namespace + "-" + c.Name
	_ = v.w.API().Create(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: *c.Spec.StorageClassName, AccessModes: c.Spec.AccessModes,
			Capacity: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	})
}
