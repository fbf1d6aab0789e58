package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// nodeTaint adds the not-ready taint to new nodes. The node lifecycle controller removes it once
// the node is ready.
type nodeTaint struct{ *admission.Handler }

var _ admission.MutationInterface = &nodeTaint{}

func newNodeTaint() *nodeTaint { return &nodeTaint{admission.NewHandler(admission.Create)} }

// Admit adds the taint unless the node has it.
func (t *nodeTaint) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, corev1.Resource("nodes")) {
		return nil
	}
	node, ok := a.GetObject().(*corev1.Node)
	if !ok {
		return admission.NewForbidden(a, unexpectedTypeError(a))
	}
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	for _, taint := range node.Spec.Taints {
		if taint.MatchTaint(&notReady) {
			return nil
		}
	}
	node.Spec.Taints = append(node.Spec.Taints, notReady)
	return nil
}

// podTopologyLabels copies the topology labels of a node to its pods, so that the downward API can
// expose them.
type podTopologyLabels struct {
	*admission.Handler
	kubeClient
	cache  cacheTracker
	lister corelisters.NodeLister
}

var (
	_ admission.MutationInterface                  = &podTopologyLabels{}
	_ admission.ValidationInterface                = &podTopologyLabels{}
	_ initializer.WantsExternalKubeInformerFactory = &podTopologyLabels{}
	_ initializer.WantsExternalKubeClientSet       = &podTopologyLabels{}
)

func newPodTopologyLabels() *podTopologyLabels {
	return &podTopologyLabels{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (t *podTopologyLabels) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Core().V1().Nodes()
	t.lister, t.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Admit adds the labels to bindings, whose labels the pod gets, and to pods created with a node
// name.
func (t *podTopologyLabels) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetOperation() != admission.Create {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *corev1.Binding:
		if obj.Target.Kind != "" && obj.Target.Kind != "Node" {
			return nil
		}
		return t.addTopologyLabels(ctx, &obj.ObjectMeta, obj.Target.Name)
	case *corev1.Pod:
		if isForResource(a, corev1.Resource("pods")) {
			return t.addTopologyLabels(ctx, &obj.ObjectMeta, obj.Spec.NodeName)
		}
	}
	return nil
}

// topologyLabelKeys are the labels that pods get from their node.
var topologyLabelKeys = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

// Validate records changes of topology labels and deletions of nodes. New nodes need no record: a
// node that is not in the cache is read from the store.
func (t *podTopologyLabels) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, corev1.Resource("nodes")) || a.GetOperation() == admission.Create {
		return nil
	}
	node, ok := a.GetObject().(*corev1.Node)
	old, existed := a.GetOldObject().(*corev1.Node)
	if !ok || !existed || slices.ContainsFunc(topologyLabelKeys, func(key string) bool { return node.Labels[key] != old.Labels[key] }) {
		t.cache.recordWrite("")
	}
	return nil
}

// addTopologyLabels adds the labels of the node to m. It ignores a missing node.
func (t *podTopologyLabels) addTopologyLabels(ctx context.Context, m *metav1.ObjectMeta, nodeName string) error {
	if nodeName == "" {
		return nil
	}
	node, err := t.getNode(ctx, nodeName)
	if err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return nil
		}
		return err
	}
	for _, key := range topologyLabelKeys {
		value, ok := node.Labels[key]
		if !ok {
			continue
		}
		if m.Labels == nil {
			m.Labels = map[string]string{}
		}
		m.Labels[key] = value
	}
	return nil
}

func (t *podTopologyLabels) getNode(ctx context.Context, name string) (*corev1.Node, error) {
	if !t.cache.isStale("") {
		if node, err := t.lister.Get(name); err == nil {
			return node, nil
		}
	}
	if !isObjectName(name) {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return t.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// isObjectName reports whether name can be the name of a node or a RuntimeClass. Other names must not
// be used in request paths.
func isObjectName(name string) bool {
	return len(apivalidation.NameIsDNSSubdomain(name, false)) == 0
}
