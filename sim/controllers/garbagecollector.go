package controllers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// garbageCollector deletes objects whose owners do not exist, with propagation policy Background.
type garbageCollector struct {
	*sim.Client
	w          *sim.World
	queue      *sim.WorkQueue                // keys: kind/namespace/name
	dependents map[types.UID]map[string]bool // keys of the queue by the UID of an owner
}

// ownerKinds are the kinds of owners in owner references, and the kinds that the garbage collector deletes.
var ownerKinds = map[string]store.Kind{"Pod": store.Pods, "ReplicaSet": store.ReplicaSets, "Deployment": store.Deployments, "StatefulSet": store.StatefulSets,
	"DaemonSet": store.DaemonSets, "ControllerRevision": store.ControllerRevisions, "ConfigMap": store.ConfigMaps, "Secret": store.Secrets, "Service": store.Services,
	"ServiceAccount": store.ServiceAccounts, "PersistentVolumeClaim": store.PersistentVolumeClaims, "PodDisruptionBudget": store.PodDisruptionBudgets,
	"EndpointSlice": store.EndpointSlices, "Node": store.Nodes}

// StartGarbageCollector starts the garbage collector.
func StartGarbageCollector(w *sim.World) {
	g := &garbageCollector{w: w}
	g.Client = w.NewClient("garbagecollector", g, store.Deployments, store.StatefulSets, store.DaemonSets, store.ReplicaSets, store.ControllerRevisions, store.ConfigMaps,
		store.Secrets, store.Services, store.ServiceAccounts, store.PersistentVolumeClaims, store.PodDisruptionBudgets, store.EndpointSlices, store.Nodes, store.Pods)
	g.queue = sim.NewWorkQueue(g.Client, g.collect)
	g.Start()
}

// OnStop implements sim.Controller.
func (g *garbageCollector) OnStop() { g.queue.Reset() }

// OnSynced implements sim.Controller.
func (g *garbageCollector) OnSynced() {
	g.dependents = map[types.UID]map[string]bool{}
	for _, k := range g.Reflector().Kinds() {
		for _, key := range g.Keys(k) {
			g.OnChange(k, nil, g.Cached(k)[key])
		}
	}
}

// OnChange implements sim.Controller.
func (g *garbageCollector) OnChange(k store.Kind, old, current store.Object) {
	if old != nil {
		g.index(k, old, false)
	}
	if current != nil {
		g.index(k, current, true)
		if owners := current.GetOwnerReferences(); len(owners) > 0 && (old == nil || !equality.Semantic.DeepEqual(owners, old.GetOwnerReferences())) {
			g.queue.Add(queueKey(k, current), 0)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(g.dependents[old.GetUID()])) {
		g.queue.Add(key, 0)
	}
}

func queueKey(k store.Kind, o store.Object) string { return string(k) + "/" + store.KeyOf(o) }

// index adds an object to the dependents of its owners, or removes it.
func (g *garbageCollector) index(k store.Kind, o store.Object, add bool) {
	for _, owner := range o.GetOwnerReferences() {
		switch {
		case !add:
			delete(g.dependents[owner.UID], queueKey(k, o))
			if len(g.dependents[owner.UID]) == 0 {
				delete(g.dependents, owner.UID)
			}
		case g.dependents[owner.UID] == nil:
			g.dependents[owner.UID] = map[string]bool{queueKey(k, o): true}
		default:
			g.dependents[owner.UID][queueKey(k, o)] = true
		}
	}
}

// collect deletes an object if none of its owners exists.
func (g *garbageCollector) collect(queueKey string, done func(time.Duration, error)) {
	kind, key, _ := strings.Cut(queueKey, "/")
	k := store.Kind(kind)
	o := g.Cached(k)[key]
	if o == nil || o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) == 0 {
		done(0, nil)
		return
	}
	g.Request(sim.RequestDelete, key, func() error {
		for _, owner := range o.GetOwnerReferences() {
			if g.exists(o.GetNamespace(), owner) {
				return nil
			}
		}
		g.w.Log(g.Name(), "delete", key, strings.TrimSuffix(kind, "s")+" "+key+" is deleted, because its owner does not exist")
		required := store.Precondition{UID: string(o.GetUID())}
		if k == store.Pods {
			return apierror.IgnoreNotFound(g.w.API().DeletePod(key, required, nil))
		}
		return apierror.IgnoreNotFound(g.w.API().Delete(k, key, required))
	}, func(err error) { done(0, err) })
}

// exists reports whether an owner exists. Owners of kinds that the simulator does not have are assumed to exist.
func (g *garbageCollector) exists(namespace string, owner metav1.OwnerReference) bool {
	k, known := ownerKinds[owner.Kind]
	if !known {
		return true
	}
	if k == store.Nodes {
		namespace = ""
	}
	o, found := g.w.API().Get(k, store.Key(namespace, owner.Name))
	return found && o.GetUID() == owner.UID
}
