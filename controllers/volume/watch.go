package volume

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"
)

// watch registers the event handlers.
func (l *controller) watch(volumes, claims, classes cache.SharedIndexInformer) error {
	if err := volumes.AddIndexers(volumeIndexers); err != nil {
		return err
	}
	if err := claims.AddIndexers(claimIndexers); err != nil {
		return err
	}
	if _, err := volumes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.onVolume,
		UpdateFunc: func(old, obj any) { l.enqueueRelatedClaims(old); l.onVolume(obj) },
		DeleteFunc: func(obj any) { l.enqueueRelatedClaims(obj) },
	}); err != nil {
		return err
	}
	if _, err := claims.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: l.onClaim, UpdateFunc: func(_, obj any) { l.onClaim(obj) }, DeleteFunc: l.enqueueRelatedVolumes,
	}); err != nil {
		return err
	}
	_, err := classes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: l.onClass, UpdateFunc: func(_, obj any) { l.onClass(obj) },
	})
	return err
}

// onVolume enqueues a volume, its claim and, while it is available, the claims that
// wait for a volume of its class.
func (l *controller) onVolume(obj any) {
	v, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return
	}
	l.queue.Add(key{name: v.Name})
	l.enqueueRelatedClaims(obj)
	if v.Spec.ClaimRef == nil && v.Status.Phase == corev1.VolumeAvailable {
		l.enqueueClaims(byClass, volume.GetPersistentVolumeClass(v))
	}
}

// enqueueRelatedClaims enqueues the claims that refer to a volume or that the volume refers to.
func (l *controller) enqueueRelatedClaims(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	v, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		l.queue.Add(key{ref.Namespace, ref.Name})
	}
	l.enqueueClaims(byVolume, v.Name)
}

func (l *controller) onClaim(obj any) {
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	l.queue.Add(key{c.Namespace, c.Name})
	l.enqueueRelatedVolumes(obj)
}

// enqueueRelatedVolumes enqueues the volumes that refer to a claim or that the claim refers to.
func (l *controller) enqueueRelatedVolumes(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	if c.Spec.VolumeName != "" {
		l.queue.Add(key{name: c.Spec.VolumeName})
	}
	for _, v := range volumesIn(l.volumeIndex, byClaim, c.Namespace+"/"+c.Name) {
		l.queue.Add(key{name: v.Name})
	}
}

func (l *controller) onClass(obj any) {
	c, ok := obj.(*storagev1.StorageClass)
	if !ok {
		return
	}
	l.enqueueClaims(byClass, c.Name)
	if isDefault(c) {
		l.enqueueClaims(byClass, "")
	}
}

func (l *controller) enqueueClaims(index, value string) {
	found, _ := l.claimIndex.ByIndex(index, value)
	for _, obj := range found {
		if c, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			l.queue.Add(key{c.Namespace, c.Name})
		}
	}
}

func volumesIn(indexer cache.Indexer, index, value string) []*corev1.PersistentVolume {
	found, _ := indexer.ByIndex(index, value)
	var out []*corev1.PersistentVolume
	for _, obj := range found {
		if v, ok := obj.(*corev1.PersistentVolume); ok {
			out = append(out, v)
		}
	}
	return out
}
