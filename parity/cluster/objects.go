package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/parity/workload"
)

// The size of the cluster. The full nodes are only for preemption.
const (
	nodes     = 100
	fullNodes = 10
	victims   = 4 // low-priority pods on each full node
	volumes   = 20
)

const (
	class     = "local" // of the volumes
	poolLabel = "pool"
	scheduler = "berth-scheduler"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

// createObjects creates nodes, classes, services and volumes.
func (c *cluster) createObjects(ctx context.Context) error {
	var o metav1.CreateOptions
	for i, n := range workload.Nodes(nodes + fullNodes) {
		if n.Labels[poolLabel] = "open"; i >= nodes {
			n.Labels[poolLabel] = "full"
			n.Spec.Taints = []corev1.Taint{{Key: poolLabel, Value: "full", Effect: corev1.TaintEffectNoSchedule}}
		}
		if _, err := c.client.CoreV1().Nodes().Create(ctx, n, o); err != nil {
			return err
		}
	}
	if _, err := c.client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, o); err != nil {
		return err
	}
	if _, err := c.client.CoreV1().Services("default").Create(ctx, &corev1.Service{ObjectMeta: meta("served"),
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "served"}, Ports: []corev1.ServicePort{{Port: 80}}}}, o); err != nil {
		return err
	}
	if _, err := c.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}, o); err != nil {
		return err
	}
	for i := range volumes {
		if err := c.createVolume(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// createVolume creates a volume on one node and a claim that waits for its first consumer.
func (c *cluster) createVolume(ctx context.Context, i int) error {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v, err := c.client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", i)},
		Spec: corev1.PersistentVolumeSpec{Capacity: size, AccessModes: modes, StorageClassName: class,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: workload.Host, Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("node-%05d", i)}}}}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	v.Status.Phase = corev1.VolumeAvailable // set by the volume controller
	if _, err := c.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, v, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err = c.client.CoreV1().PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(fmt.Sprintf("claim-%d", i)),
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: new(class), Resources: corev1.VolumeResourceRequirements{Requests: size}}}, metav1.CreateOptions{})
	return err
}
