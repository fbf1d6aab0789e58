package podproxy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/generic/registry"
)

// PodGetter reads pods from their store.
type PodGetter struct{ Store *registry.Store }

func (p PodGetter) get(ctx context.Context, name string) (*corev1.Pod, error) {
	obj, err := p.Store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("want a Pod named %s, got %T", name, obj))
	}
	return pod, nil
}

// resolveContainer returns the name of the container. name may be empty if the pod has only one
// container.
func resolveContainer(pod *corev1.Pod, name string) (string, error) {
	var regular, initContainers, ephemeral []string
	for _, c := range pod.Spec.Containers {
		regular = append(regular, c.Name)
	}
	for _, c := range pod.Spec.InitContainers {
		initContainers = append(initContainers, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		ephemeral = append(ephemeral, c.Name)
	}
	switch {
	case name != "" && slices.Contains(slices.Concat(regular, initContainers, ephemeral), name):
		return name, nil
	case name != "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case len(regular) == 1:
		return regular[0], nil
	}
	message := fmt.Sprintf("a container name must be specified for pod %s, choose one of: [%s]", pod.Name, strings.Join(regular, " "))
	if len(initContainers) > 0 {
		message += fmt.Sprintf(" or one of the init containers: [%s]", strings.Join(initContainers, " "))
	}
	if len(ephemeral) > 0 {
		message += fmt.Sprintf(" or one of the ephemeral containers: [%s]", strings.Join(ephemeral, " "))
	}
	return "", apierrors.NewBadRequest(message)
}
