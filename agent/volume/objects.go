package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigMap reads a configMap that a pod of this node refers to.
func (v *Volumes) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return v.opts.Client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Secret reads a secret that a pod of this node refers to.
func (v *Volumes) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return v.opts.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}
