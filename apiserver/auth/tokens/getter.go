package tokens

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Getter reads the objects that a token can refer to. A missing object is a NotFound API error.
type Getter interface {
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
}

// informerGetter reads informer caches and falls back to the server: a token may be used before the
// caches have its account.
type informerGetter struct {
	client   kubernetes.Interface
	accounts corelisters.ServiceAccountLister
	pods     corelisters.PodLister
	nodes    corelisters.NodeLister
}

// NewGetter returns a Getter that reads the informers of factory and falls back to client. Secrets
// are always read with client: a cache of all secrets would cost memory for a rare case. client
// must not authenticate with a service account token, which itself needs the Getter.
func NewGetter(client kubernetes.Interface, factory informers.SharedInformerFactory) Getter {
	core := factory.Core().V1()
	return &informerGetter{
		client:   client,
		accounts: core.ServiceAccounts().Lister(),
		pods:     core.Pods().Lister(),
		nodes:    core.Nodes().Lister(),
	}
}

func (g *informerGetter) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	sa, err := g.accounts.ServiceAccounts(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return g.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	return sa, err
}

func (g *informerGetter) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := g.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return g.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	return pod, err
}

func (g *informerGetter) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return g.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (g *informerGetter) Node(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := g.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		return g.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	}
	return node, err
}
