package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/config"
)

// readMargin is the extra time for reading the objects that are sent to extenders.
const readMargin = 10 * time.Second

// objectCache holds API pods and nodes, which extenders receive unconverted. Objects that are not watched, or not
// observed yet, are read from the API server on demand.
type objectCache struct {
	client                kubernetes.Interface
	pods, nodes           cache.Store
	watchPods, watchNodes bool
	// podFieldSelector selects the watched pods: pending pods, which are sent to every extender, or all pods if an
	// extender needs whole victims.
	podFieldSelector string
}

// newObjectCache returns a cache for the extenders. It watches nodes only if an extender is
// not nodeCacheCapable. The pod is always sent.
func newObjectCache(client kubernetes.Interface, list config.Extenders) *objectCache {
	o := &objectCache{client: client, pods: cache.NewStore(cache.MetaNamespaceKeyFunc), nodes: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	needsAllPods := false
	for i := range list {
		e := &list[i]
		evaluatesNodes := e.Filter != "" || e.Prioritize != ""
		o.watchPods = o.watchPods || evaluatesNodes || e.Preempt != ""
		needsAllPods = needsAllPods || e.Preempt != "" && !e.NodeCacheCapable
		o.watchNodes = o.watchNodes || evaluatesNodes && !e.NodeCacheCapable
	}
	if !needsAllPods {
		o.podFieldSelector = fields.OneTermEqualSelector("spec.nodeName", "").String()
	}
	return o
}

func (o *objectCache) run(ctx context.Context) {
	var wg sync.WaitGroup
	if o.watchPods {
		c := o.client.CoreV1().Pods("")
		wg.Go(func() {
			o.runReflector(ctx, "pods", &corev1.Pod{}, o.pods, cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, l metav1.ListOptions) (runtime.Object, error) {
					l.FieldSelector = o.podFieldSelector
					return c.List(ctx, l)
				},
				WatchFuncWithContext: func(ctx context.Context, l metav1.ListOptions) (watch.Interface, error) {
					l.FieldSelector = o.podFieldSelector
					return c.Watch(ctx, l)
				},
			})
		})
	}
	if o.watchNodes {
		c := o.client.CoreV1().Nodes()
		wg.Go(func() {
			o.runReflector(ctx, "nodes", &corev1.Node{}, o.nodes, cache.ListWatch{
				ListWithContextFunc:  func(ctx context.Context, l metav1.ListOptions) (runtime.Object, error) { return c.List(ctx, l) },
				WatchFuncWithContext: func(ctx context.Context, l metav1.ListOptions) (watch.Interface, error) { return c.Watch(ctx, l) },
			})
		})
	}
	wg.Wait()
}

func (o *objectCache) runReflector(ctx context.Context, name string, objectType runtime.Object, store cache.Store, lw cache.ListWatch) {
	source := cache.ToListWatcherWithWatchListSemantics(&lw, o.client)
	cache.NewReflectorWithOptions(source, objectType, store, cache.ReflectorOptions{Name: "extenders/" + name}).RunWithContext(ctx)
}

// errPodDeleted is the error for a pod that was deleted.
var errPodDeleted = errors.New("deleted")

// pod returns the API object of a pod. It fails if another pod has the name.
func (o *objectCache) pod(ctx context.Context, p *model.Pod) (*corev1.Pod, error) {
	if obj, ok, _ := o.pods.GetByKey(p.Key()); ok && string(obj.(*corev1.Pod).UID) == p.UID {
		return obj.(*corev1.Pod), nil
	}
	current, err := o.client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("pod %s: %w", p.Key(), errPodDeleted)
	}
	if err != nil {
		return nil, fmt.Errorf("reading pod %s to send it to an extender: %w", p.Key(), err)
	}
	if string(current.UID) != p.UID {
		return nil, fmt.Errorf("pod %s with UID %s: %w: replaced by UID %s", p.Key(), p.UID, errPodDeleted, current.UID)
	}
	return current, nil
}

func (o *objectCache) node(ctx context.Context, name string) (*corev1.Node, error) {
	if obj, ok, _ := o.nodes.GetByKey(name); ok {
		return obj.(*corev1.Node), nil
	}
	current, err := o.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading node %s to send it to an extender: %w", name, err)
	}
	return current, nil
}

// podOnNode returns the pod with the given UID on a node, or nil.
func (o *objectCache) podOnNode(ctx context.Context, node, uid string) (*corev1.Pod, error) {
	list, err := o.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
	if err != nil {
		return nil, fmt.Errorf("reading the pods of node %s: %w", node, err)
	}
	i := slices.IndexFunc(list.Items, func(p corev1.Pod) bool { return string(p.UID) == uid && p.Spec.NodeName == node })
	if i < 0 {
		return nil, nil
	}
	return &list.Items[i], nil
}
