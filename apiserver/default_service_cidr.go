package apiserver

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// defaultServiceCIDR is the name of the ServiceCIDR with the range of the server.
const defaultServiceCIDR = "kubernetes"

// runDefaultServiceCIDR recreates the default ServiceCIDR if it is deleted, until ctx is done.
func runDefaultServiceCIDR(ctx context.Context, client kubernetes.Interface, cidr string) {
	_ = wait.PollUntilContextCancel(ctx, kubernetesServiceInterval, true, func(ctx context.Context) (bool, error) {
		if err := ensureDefaultServiceCIDR(ctx, client, cidr); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to reconcile the default ServiceCIDR; retrying", "interval", kubernetesServiceInterval)
		}
		return false, nil
	})
}

// ensureDefaultServiceCIDR creates the default ServiceCIDR if it is missing, and reports it as ready. It
// does not change the range of an existing object, because the field is immutable.
func ensureDefaultServiceCIDR(ctx context.Context, client kubernetes.Interface, cidr string) error {
	objects := client.NetworkingV1().ServiceCIDRs()
	existing, err := objects.Get(ctx, defaultServiceCIDR, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		existing, err = objects.Create(ctx, &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: defaultServiceCIDR},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr}},
		}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // another server created it first
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating ServiceCIDR %s: %w", defaultServiceCIDR, err)
	}
	if existing.DeletionTimestamp != nil || len(existing.Spec.CIDRs) != 1 || existing.Spec.CIDRs[0] != cidr || meta.IsStatusConditionTrue(existing.Status.Conditions, networkingv1.ServiceCIDRConditionReady) {
		return nil
	}
	existing = existing.DeepCopy()
	meta.SetStatusCondition(&existing.Status.Conditions, metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Reason: "Ready", Message: "Kubernetes default Service CIDR is ready"})
	if _, err := objects.UpdateStatus(ctx, existing, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating the status of ServiceCIDR %s: %w", defaultServiceCIDR, err)
	}
	return nil
}
