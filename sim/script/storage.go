package script

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

func readClass(p *parser, w *tokens) {
	p.addNamedObjects(w, "storage class", []string{"provisioner=", "wait"}, func(name string, o *options) store.Object {
		mode := storagev1.VolumeBindingImmediate
		if o.has("wait") {
			mode = storagev1.VolumeBindingWaitForFirstConsumer
		}
		provisioner := cmp.Or(o.values["provisioner"], "kubernetes.io/no-provisioner")
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	})
}

func readVolume(p *parser, w *tokens) {
	p.addNamedObjects(w, "volume", []string{"size=", "class=", "node="}, func(name string, o *options) store.Object {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: o.quantity("size", "10Gi")}
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		v.Spec.StorageClassName = o.values["class"]
		v.Status.Phase = corev1.VolumeAvailable
		if node := o.values["node"]; node != "" {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}}
		}
		return v
	})
}

func readClaim(p *parser, w *tokens) {
	p.addNamedObjects(w, "claim", []string{"size=", "class=", "ns="}, func(name string, o *options) store.Object {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: o.metadata(name)}
		c.Spec.StorageClassName = new(o.values["class"])
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: o.quantity("size", "10Gi")}
		c.Status.Phase = corev1.ClaimPending
		return c
	})
}
