package garbage

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// rediscover is how often it is asked which kinds there are.
const rediscover = 30 * time.Second

// patience is how long the first list of a kind is waited for, which may be forbidden.
const patience = 30 * time.Second

// kind is one resource that can own or be owned.
type kind struct {
	schema.GroupVersionResource
	kind       schema.GroupKind
	namespaced bool
}

// discover lists what can be watched and deleted, by group and kind. With an error the list
// holds what could be found out.
func discover(d discovery.DiscoveryInterface) (map[schema.GroupKind]kind, error) {
	lists, err := discovery.ServerPreferredResources(d)
	out := map[schema.GroupKind]kind{}
	for _, list := range lists {
		gv, e := schema.ParseGroupVersion(list.GroupVersion)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if strings.Contains(r.Name, "/") || !sets.New(r.Verbs...).HasAll("delete", "get", "list", "patch", "watch") {
				continue
			}
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			if gk.Kind == "Event" && (gk.Group == "" || gk.Group == "events.k8s.io") {
				continue // too many, too short-lived, and nobody's dependents
			}
			if _, there := out[gk]; !there {
				out[gk] = kind{gv.WithResource(r.Name), gk, r.Namespaced}
			}
		}
	}
	return out, err
}

// trim keeps of an object's metadata what the graph reads.
func trim(obj any) (any, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil // a tombstone
	}
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(),
		OwnerReferences: m.GetOwnerReferences(), Finalizers: m.GetFinalizers(), DeletionTimestamp: m.GetDeletionTimestamp(),
	}}
	return out, nil
}

// follow watches all kinds that are discovered, now and later, until ctx ends. It returns
// when those that there are now are known.
func (l *collector) follow(ctx context.Context) error {
	if err := l.extend(ctx); err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(rediscover)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := l.extend(ctx); err != nil {
					l.log.Error(err, "Finding out which kinds there are failed; trying again")
				}
			}
		}
	}()
	return nil
}

// watched is a kind that feeds the graph.
type watched struct {
	of       kind
	informer cache.SharedIndexInformer
	synced   cache.InformerSynced
	stop     func()
	swept    bool // what the graph had of the kind before is compared with what there is
}

// extend watches the kinds that are not watched yet, or not in the version that is preferred by now, and no longer those that are gone.
func (l *collector) extend(ctx context.Context) error {
	found, err := discover(l.discovery)
	if len(found) == 0 && err != nil {
		return err
	}
	if err == nil {
		l.release(found)
	}
	var synced []cache.InformerSynced
	for gk, k := range found {
		if before, there := l.kindOf(gk); there && before == k {
			continue
		}
		w, err := l.watch(ctx, k)
		if err != nil {
			return err
		}
		synced = append(synced, w.synced)
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !cache.WaitForCacheSync(patient.Done(), synced...) && ctx.Err() == nil {
		l.log.Info("Some kinds cannot be listed; what they own or belong to is found out as it is met", "kinds", len(synced))
	}
	l.sweep()
	return nil
}

// release stops watching the kinds that are not served any more. What the graph has of them stays until they are again.
func (l *collector) release(found map[schema.GroupKind]kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for gk, w := range l.kinds {
		if _, there := found[gk]; !there {
			w.stop()
			delete(l.kinds, gk)
		}
	}
}

// watch feeds the graph with the objects of a kind, in place of who did so in another version.
func (l *collector) watch(ctx context.Context, k kind) (*watched, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{of: k, informer: l.shared[k.GroupVersionResource], stop: cancel}
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(l.metadata, 0, metadatainformer.WithTransform(trim))
	if w.informer == nil {
		w.informer = factory.ForResource(k.GroupVersionResource).Informer()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.kinds[k.kind]; before != nil {
		before.stop()
	}
	registration, err := w.informer.AddEventHandler(l.handler(ctx, k))
	if err != nil {
		cancel()
		return nil, err
	}
	w.synced, l.kinds[k.kind] = registration.HasSynced, w
	factory.Start(ctx.Done())
	return w, nil
}

// sweep takes out of the graph what kinds do not have any more that were watched before, too: once of each, as soon as it is listed.
func (l *collector) sweep() {
	listed := l.listed()
	if len(listed) == 0 {
		return
	}
	known := l.graph.all() // before the stores are read: what comes meanwhile is in both
	there := map[schema.GroupKind]map[types.UID]bool{}
	for _, w := range listed {
		uids := map[types.UID]bool{}
		for _, o := range w.informer.GetStore().List() {
			if m, err := meta.Accessor(o); err == nil {
				uids[m.GetUID()] = true
			}
		}
		there[w.of.kind] = uids
	}
	for _, o := range known {
		if uids, asked := there[o.kind]; asked && !uids[o.uid] {
			l.look(l.graph.remove(o.uid))
		}
	}
}

// listed are the kinds that are known by now, and were not when it was asked last.
func (l *collector) listed() (out []*watched) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.kinds {
		if w.informer != nil && !w.swept && w.synced() {
			w.swept = true
			out = append(out, w)
		}
	}
	return out
}

// handler feeds the graph until ctx ends.
func (l *collector) handler(ctx context.Context, k kind) cache.ResourceEventHandler {
	upsert := func(obj any) {
		if m, err := meta.Accessor(obj); err == nil && ctx.Err() == nil {
			l.look(l.graph.upsert(compile(k.GroupVersionResource, k.kind, m)))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    upsert,
		UpdateFunc: func(_, obj any) { upsert(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if m, err := meta.Accessor(obj); err == nil && ctx.Err() == nil {
				l.look(l.graph.remove(m.GetUID()))
			}
		},
	}
}

func (l *collector) look(uids []types.UID) {
	for _, uid := range uids {
		l.loop.Add(uid)
	}
}

// kindOf finds the resource of a kind.
func (l *collector) kindOf(gk schema.GroupKind) (kind, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.kinds[gk]; w != nil {
		return w.of, true
	}
	return kind{}, false
}
