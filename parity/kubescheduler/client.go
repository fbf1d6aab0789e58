package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

// client is a fake clientset whose requests that change pods go to the store.
type client struct {
	kubernetes.Interface
	store *store
}

type coreV1 struct {
	typed.CoreV1Interface
	store *store
}

type pods struct {
	typed.PodInterface
	store *store
}

func (c *client) CoreV1() typed.CoreV1Interface { return coreV1{c.Interface.CoreV1(), c.store} }

func (c coreV1) Pods(namespace string) typed.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.store}
}

func (p pods) Bind(_ context.Context, b *corev1.Binding, _ metav1.CreateOptions) error {
	return p.store.bind(b.Name, b.Target.Name)
}

func (p pods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	return p.store.evict(name)
}

func (p pods) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*corev1.Pod, error) {
	if len(sub) != 1 || sub[0] != "status" || kind != types.StrategicMergePatchType {
		return nil, fmt.Errorf("pod %s: a patch of %v of type %s: only strategic merge patches of the status are supported", name, sub, kind)
	}
	return p.store.patch(name, data)
}

// IsWatchListSemanticsUnSupported makes reflectors list and then watch.
func (c *client) IsWatchListSemanticsUnSupported() bool { return true }
