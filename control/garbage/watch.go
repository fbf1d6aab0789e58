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

// extend watches the kinds that are not watched yet.
func (l *collector) extend(ctx context.Context) error {
	found, err := discover(l.discovery)
	if len(found) == 0 && err != nil {
		return err
	}
	l.mu.Lock()
	fresh := map[schema.GroupKind]kind{}
	for gk, k := range found {
		if _, there := l.kinds[gk]; !there {
			fresh[gk] = k
		}
		l.kinds[gk] = k
	}
	l.mu.Unlock()
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(l.metadata, 0, metadatainformer.WithTransform(trim))
	var synced []cache.InformerSynced
	for _, k := range fresh {
		var informer cache.SharedIndexInformer
		if shared, ok := l.shared[k.GroupVersionResource]; ok {
			informer = shared
		} else {
			informer = factory.ForResource(k.GroupVersionResource).Informer()
		}
		registration, err := informer.AddEventHandler(l.handler(k))
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !cache.WaitForCacheSync(patient.Done(), synced...) && ctx.Err() == nil {
		l.log.Info("Some kinds cannot be listed; what they own or belong to is found out as it is met", "kinds", len(synced))
	}
	return nil
}

// handler feeds the graph.
func (l *collector) handler(k kind) cache.ResourceEventHandler {
	upsert := func(obj any) {
		if m, err := meta.Accessor(obj); err == nil {
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
			if m, err := meta.Accessor(obj); err == nil {
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

// kindOf finds the resource of an owner reference.
func (l *collector) kindOf(apiVersion, name string) (kind, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.kinds[schema.FromAPIVersionAndKind(apiVersion, name).GroupKind()]
	return k, ok
}
