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

// ConfigMap reads a ConfigMap of a pod on this node.
func (v *Volumes) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return newObjectReader(v.opts.Client).configMap(ctx, namespace, name)
}

// Secret reads a Secret of a pod on this node.
func (v *Volumes) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return newObjectReader(v.opts.Client).secret(ctx, namespace, name)
}

// objectReader reads each object once, for all volumes of one refresh.
type objectReader struct {
	client     kubernetes.Interface
	configMaps map[types.NamespacedName]cachedRead[*corev1.ConfigMap]
	secrets    map[types.NamespacedName]cachedRead[*corev1.Secret]
}

// cachedRead is the result of reading an object.
type cachedRead[T any] struct {
	object T
	err    error
}

func newObjectReader(client kubernetes.Interface) *objectReader {
	return &objectReader{client: client,
		configMaps: map[types.NamespacedName]cachedRead[*corev1.ConfigMap]{}, secrets: map[types.NamespacedName]cachedRead[*corev1.Secret]{}}
}

func (r *objectReader) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return readOnce(r.configMaps, "configmap", namespace, name, func() (*corev1.ConfigMap, error) {
		return r.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

func (r *objectReader) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return readOnce(r.secrets, "secret", namespace, name, func() (*corev1.Secret, error) {
		return r.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

// readOnce returns the cached result of get. It calls get if there is none.
func readOnce[T any](cache map[types.NamespacedName]cachedRead[T], kind, namespace, name string, get func() (T, error)) (T, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	cached, ok := cache[key]
	if !ok {
		cached.object, cached.err = get()
		if apierrors.IsNotFound(cached.err) { // the wording of the pod's event
			cached.err = apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
		}
		cache[key] = cached
	}
	return cached.object, cached.err
}
