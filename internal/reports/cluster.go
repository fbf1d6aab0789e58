package reports

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/informers"
)

// ReadCluster returns all objects of a cluster that scheduling uses, without finished pods
// except the named one.
func ReadCluster(ctx context.Context, config *rest.Config, namespace, pod string) ([]runtime.Object, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	holds, err := v1alpha1.NewClient(config)
	if err != nil {
		return nil, err
	}
	objects, err := informers.List(ctx, client, holds)
	if err != nil || pod == "" {
		return objects, err
	}
	p, err := client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return objects, nil
	}
	if err == nil && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) {
		objects = append(objects, p)
	}
	return objects, err
}
