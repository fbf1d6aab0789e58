package serviceaccount

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ConfigMapName is the upstream name of the ConfigMap with the CA certificate. Token volumes of pods project it.
	ConfigMapName = "kube-root-ca.crt"
	// ConfigMapKey is the key of the PEM certificate.
	ConfigMapKey = "ca.crt"

	descriptionAnnotation = "kubernetes.io/description"
	description           = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

func (c *controller) ensureRootCA(ctx context.Context, namespace string) error {
	want := map[string]string{ConfigMapKey: c.rootCA}
	client := c.client.CoreV1().ConfigMaps(namespace)
	existing, err := c.configMaps.ConfigMaps(namespace).Get(ConfigMapName)
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: ConfigMapName, Namespace: namespace,
				Annotations: map[string]string{descriptionAnnotation: description},
			},
			Data: want,
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil || maps.Equal(existing.Data, want) && existing.Annotations[descriptionAnnotation] != "" {
		return err
	}
	updated := existing.DeepCopy()
	updated.Data = want
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	updated.Annotations[descriptionAnnotation] = description
	_, err = client.Update(ctx, updated, metav1.UpdateOptions{})
	return err
}
