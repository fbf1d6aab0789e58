package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// ConfigMap reads a configMap that a pod of this node refers to.
func (v *Volumes) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return newReader(v.opts.Client).configMap(ctx, namespace, name)
}

// Secret reads a secret that a pod of this node refers to.
func (v *Volumes) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return newReader(v.opts.Client).secret(ctx, namespace, name)
}

// reader reads each object once, however many volumes show it. It serves one
// round; the next makes its own.
type reader struct {
	client     kubernetes.Interface
	configMaps map[types.NamespacedName]read[*corev1.ConfigMap]
	secrets    map[types.NamespacedName]read[*corev1.Secret]
}

type read[T any] struct {
	object T
	err    error
}

func newReader(client kubernetes.Interface) *reader {
	return &reader{client: client,
		configMaps: map[types.NamespacedName]read[*corev1.ConfigMap]{}, secrets: map[types.NamespacedName]read[*corev1.Secret]{}}
}

func (r *reader) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return once(r.configMaps, "configmap", namespace, name, func() (*corev1.ConfigMap, error) {
		return r.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

func (r *reader) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return once(r.secrets, "secret", namespace, name, func() (*corev1.Secret, error) {
		return r.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

func once[T any](known map[types.NamespacedName]read[T], kind, namespace, name string, get func() (T, error)) (T, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	got, ok := known[key]
	if !ok {
		got.object, got.err = get()
		if apierrors.IsNotFound(got.err) { // in the words that a pod's events have for it
			got.err = apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
		}
		known[key] = got
	}
	return got.object, got.err
}
