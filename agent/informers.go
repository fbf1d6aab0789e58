package agent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// startInformers watches the nodes and the pods bound to them. An agent of a single node
// selects only its own objects, as a node credential requires; an agent of several nodes
// watches all.
func (a *Agent) startInformers(ctx context.Context) (pods, nodes cache.SharedIndexInformer, err error) {
	podSelector, nodeSelector := fields.OneTermNotEqualSelector("spec.nodeName", ""), fields.Everything()
	if len(a.nodes) == 1 {
		for name := range a.nodes {
			podSelector, nodeSelector = fields.OneTermEqualSelector("spec.nodeName", name), fields.OneTermEqualSelector("metadata.name", name)
		}
	}
	pods, err = a.startInformer(ctx, podSelector, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	},
		cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { a.observePod(obj, false) },
			UpdateFunc: func(oldObj, newObj any) {
				if isReplacement(oldObj, newObj) { // the watch missed a deletion and a new pod of the same name
					a.observePod(oldObj, true)
				}
				a.observePod(newObj, false)
			},
			DeleteFunc: func(obj any) { a.observePod(obj, true) },
		})
	if err != nil {
		return nil, nil, err
	}
	nodes, err = a.startInformer(ctx, nodeSelector, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Nodes().Informer()
	},
		cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { a.observeNode(obj) },
			UpdateFunc: func(_, obj any) { a.observeNode(obj) },
		})
	return pods, nodes, err
}

// startInformer starts an informer restricted by a field selector.
func (a *Agent) startInformer(ctx context.Context, s fields.Selector, newInformer func(informers.SharedInformerFactory) cache.SharedIndexInformer,
	handler cache.ResourceEventHandler) (cache.SharedIndexInformer, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(a.opts.Client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = s.String() }),
		informers.WithTransform(trimObject))
	informer := newInformer(factory)
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	a.tasks.start(func() { <-ctx.Done(); factory.Shutdown() })
	return informer, nil
}

// trimObject returns a copy of the object without the fields that the agent does not read.
func trimObject(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		p := *o
		p.ManagedFields = nil
		return &p, nil
	case *corev1.Node:
		n := *o
		n.ManagedFields = nil
		n.Status = corev1.NodeStatus{Capacity: o.Status.Capacity, Allocatable: o.Status.Allocatable}
		return &n, nil
	}
	return obj, nil
}

// isReplacement reports whether two versions of a pod have different UIDs.
func isReplacement(oldObject, newObject any) bool {
	oldPod, ok := oldObject.(*corev1.Pod)
	newPod, isPod := newObject.(*corev1.Pod)
	return ok && isPod && oldPod.UID != newPod.UID
}

func (a *Agent) observePod(obj any, deleted bool) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if p, ok := obj.(*corev1.Pod); ok {
		a.ObservePod(p, deleted)
	}
}

func (a *Agent) observeNode(obj any) {
	if n, ok := obj.(*corev1.Node); ok {
		a.ObserveNode(n)
	}
}
