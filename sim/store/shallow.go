package store

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// shallowCopy returns a copy of an object that shares its pointers, slices and maps. It copies
// rarely written kinds deeply.
func shallowCopy(o Object) Object {
	switch o := o.(type) {
	case *corev1.Pod:
		c := *o
		return &c
	case *corev1.Node:
		c := *o
		return &c
	case *policyv1.PodDisruptionBudget:
		c := *o
		return &c
	case *corev1.PersistentVolume:
		c := *o
		return &c
	case *corev1.PersistentVolumeClaim:
		c := *o
		return &c
	case *appsv1.ReplicaSet:
		c := *o
		return &c
	}
	c, _ := o.DeepCopyObject().(Object)
	return c
}
