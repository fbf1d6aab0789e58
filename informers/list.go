package informers

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/api/v1alpha1"
)

// List returns all objects that scheduling reads, without finished pods. If holds is nil,
// it lists no Holds.
func List(ctx context.Context, client kubernetes.Interface, holds v1alpha1.Client) ([]runtime.Object, error) {
	core, apps, storage := client.CoreV1(), client.AppsV1(), client.StorageV1()
	options := metav1.ListOptions{}
	lists := []struct {
		name string
		list func() (runtime.Object, error)
	}{
		{"nodes", func() (runtime.Object, error) { return core.Nodes().List(ctx, options) }},
		{"pods", func() (runtime.Object, error) {
			return core.Pods("").List(ctx, metav1.ListOptions{FieldSelector: unfinishedPodSelector})
		}},
		{"namespaces", func() (runtime.Object, error) { return core.Namespaces().List(ctx, options) }},
		{"services", func() (runtime.Object, error) { return core.Services("").List(ctx, options) }},
		{"replicationcontrollers", func() (runtime.Object, error) { return core.ReplicationControllers("").List(ctx, options) }},
		{"replicasets", func() (runtime.Object, error) { return apps.ReplicaSets("").List(ctx, options) }},
		{"statefulsets", func() (runtime.Object, error) { return apps.StatefulSets("").List(ctx, options) }},
		{"poddisruptionbudgets", func() (runtime.Object, error) { return client.PolicyV1().PodDisruptionBudgets("").List(ctx, options) }},
		{"persistentvolumes", func() (runtime.Object, error) { return core.PersistentVolumes().List(ctx, options) }},
		{"persistentvolumeclaims", func() (runtime.Object, error) { return core.PersistentVolumeClaims("").List(ctx, options) }},
		{"storageclasses", func() (runtime.Object, error) { return storage.StorageClasses().List(ctx, options) }},
		{"csinodes", func() (runtime.Object, error) { return storage.CSINodes().List(ctx, options) }},
		{"csidrivers", func() (runtime.Object, error) { return storage.CSIDrivers().List(ctx, options) }},
		{"csistoragecapacities", func() (runtime.Object, error) { return storage.CSIStorageCapacities("").List(ctx, options) }},
		{"volumeattachments", func() (runtime.Object, error) { return storage.VolumeAttachments().List(ctx, options) }},
		{"resourceclaims", func() (runtime.Object, error) {
			o, err := client.ResourceV1().ResourceClaims("").List(ctx, options)
			if apierrors.IsNotFound(err) {
				return &resourcev1.ResourceClaimList{}, nil // not served
			}
			return o, err
		}},
		{"holds", func() (runtime.Object, error) {
			if holds == nil {
				return &v1alpha1.HoldList{}, nil
			}
			o, err := holds.Holds("").List(ctx, options)
			if apierrors.IsNotFound(err) {
				return &v1alpha1.HoldList{}, nil // not served
			}
			return o, err
		}},
	}
	var out []runtime.Object
	for _, l := range lists {
		o, err := l.list()
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", l.name, err)
		}
		items, err := meta.ExtractList(o)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", l.name, err)
		}
		out = append(out, items...)
	}
	return out, nil
}
