package nodeauth

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Graph records which objects the pods of each node reference. It is safe for concurrent use.
type Graph struct {
	mu sync.RWMutex
	// pods holds the node and the references of each bound pod.
	pods map[podKey]boundPod
	// users counts the references to an object by node.
	users map[objectKey]map[string]int
	// volumes holds the claim and the secrets of each PV. secretVolumes is the reverse index.
	volumes       map[string]volume
	secretVolumes map[objectKey]map[string]struct{}
	// attachments holds the node of each VolumeAttachment.
	attachments map[string]string
	synced      []cache.InformerSynced
}

type podKey struct{ namespace, name string }

type boundPod struct {
	node string
	refs []objectKey
}

type volume struct {
	claim   objectKey // zero if the volume is unbound
	secrets []objectKey
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{
		pods:          map[podKey]boundPod{},
		users:         map[objectKey]map[string]int{},
		volumes:       map[string]volume{},
		secretVolumes: map[objectKey]map[string]struct{}{},
		attachments:   map[string]string{},
	}
}

// Watch registers event handlers that update the graph.
func (g *Graph) Watch(factory informers.SharedInformerFactory) error {
	handlers := []struct {
		informer    cache.SharedIndexInformer
		set, remove func(any)
	}{
		{factory.Core().V1().Pods().Informer(), typedHandler(g.SetPod), typedHandler(g.DeletePod)},
		{factory.Core().V1().PersistentVolumes().Informer(), typedHandler(g.SetVolume), typedHandler(g.DeleteVolume)},
		{factory.Storage().V1().VolumeAttachments().Informer(), typedHandler(g.SetAttachment), typedHandler(g.DeleteAttachment)},
	}
	for _, f := range handlers {
		registration, err := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: f.set, UpdateFunc: func(_, obj any) { f.set(obj) }, DeleteFunc: f.remove,
		})
		if err != nil {
			return err
		}
		g.synced = append(g.synced, registration.HasSynced)
	}
	return nil
}

// Synced reports whether the graph contains the objects of the initial lists. Until then, the
// authorizer may reject valid requests of nodes, which retry.
func (g *Graph) Synced() bool {
	for _, synced := range g.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// typedHandler adapts f to an informer handler. It unwraps tombstones.
func typedHandler[T any](f func(T)) func(any) {
	return func(obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if typed, ok := obj.(T); ok {
			f(typed)
		}
	}
}

// SetPod adds or updates a pod. A pod without a node has no references.
func (g *Graph) SetPod(pod *corev1.Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := podKey{pod.Namespace, pod.Name}
	g.removePod(key)
	if pod.Spec.NodeName == "" {
		return
	}
	bound := boundPod{node: pod.Spec.NodeName, refs: references(pod)}
	g.pods[key] = bound
	for _, ref := range bound.refs {
		if g.users[ref] == nil {
			g.users[ref] = map[string]int{}
		}
		g.users[ref][bound.node]++
	}
}

// DeletePod removes a pod and its references.
func (g *Graph) DeletePod(pod *corev1.Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removePod(podKey{pod.Namespace, pod.Name})
}

func (g *Graph) removePod(key podKey) {
	bound, ok := g.pods[key]
	if !ok {
		return
	}
	delete(g.pods, key)
	for _, ref := range bound.refs {
		nodes := g.users[ref]
		if nodes[bound.node]--; nodes[bound.node] == 0 {
			delete(nodes, bound.node)
		}
		if len(nodes) == 0 {
			delete(g.users, ref)
		}
	}
}

// SetVolume adds or updates a PersistentVolume.
func (g *Graph) SetVolume(pv *corev1.PersistentVolume) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removeVolume(pv.Name)
	v := volume{secrets: secretsOf(pv)}
	if claim := pv.Spec.ClaimRef; claim != nil {
		v.claim = objectKey{claims, claim.Namespace, claim.Name}
	}
	g.volumes[pv.Name] = v
	for _, s := range v.secrets {
		if g.secretVolumes[s] == nil {
			g.secretVolumes[s] = map[string]struct{}{}
		}
		g.secretVolumes[s][pv.Name] = struct{}{}
	}
}

// DeleteVolume removes a PersistentVolume.
func (g *Graph) DeleteVolume(pv *corev1.PersistentVolume) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removeVolume(pv.Name)
}

func (g *Graph) removeVolume(name string) {
	for _, s := range g.volumes[name].secrets {
		delete(g.secretVolumes[s], name)
		if len(g.secretVolumes[s]) == 0 {
			delete(g.secretVolumes, s)
		}
	}
	delete(g.volumes, name)
}

// SetAttachment adds or updates a VolumeAttachment.
func (g *Graph) SetAttachment(va *storagev1.VolumeAttachment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.attachments[va.Name] = va.Spec.NodeName
}

// DeleteAttachment removes a VolumeAttachment.
func (g *Graph) DeleteAttachment(va *storagev1.VolumeAttachment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.attachments, va.Name)
}

// References reports whether a pod bound to the node references the object, directly or, for a
// secret, through a persistent volume.
func (g *Graph) References(node, kind, namespace, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	key := objectKey{kind, namespace, name}
	if g.users[key][node] > 0 {
		return true
	}
	for pv := range g.secretVolumes[key] {
		if g.usesVolume(node, pv) {
			return true
		}
	}
	return false
}

// UsesVolume reports whether a pod bound to the node uses the PersistentVolume.
func (g *Graph) UsesVolume(node, pv string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.usesVolume(node, pv)
}

func (g *Graph) usesVolume(node, pv string) bool {
	claim := g.volumes[pv].claim
	return claim != objectKey{} && g.users[claim][node] > 0
}

// HasAttachment reports whether the VolumeAttachment is for the node.
func (g *Graph) HasAttachment(node, attachment string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return node != "" && g.attachments[attachment] == node
}

// RunsPod reports whether the pod is bound to the node.
func (g *Graph) RunsPod(node, namespace, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	bound, ok := g.pods[podKey{namespace, name}]
	return ok && bound.node == node
}
