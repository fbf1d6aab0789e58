package garbagecollector

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// newMetadata returns the metadata of a ConfigMap; owners are given by name, with "!" before one that it blocks.
func newMetadata(name string, owners ...string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	m.Name, m.Namespace, m.UID, m.ResourceVersion = name, "ns", types.UID(name), "1"
	for _, o := range owners {
		blocks := strings.HasPrefix(o, "!")
		o = strings.TrimPrefix(o, "!")
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o, UID: types.UID(o), BlockOwnerDeletion: &blocks})
	}
	return m
}

// deletingWith sets the deletion timestamp of an object and adds a finalizer. It returns the object.
func deletingWith(m *metav1.PartialObjectMetadata, finalizer string) *metav1.PartialObjectMetadata {
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	m.Finalizers = append(m.Finalizers, finalizer)
	return m
}

var configMaps = monitoredResource{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, schema.GroupKind{Kind: "ConfigMap"}, true}

func toObject(m *metav1.PartialObjectMetadata) *object {
	return newObject(configMaps.GroupVersionResource, configMaps.kind, m)
}

func TestGraphEnqueues(t *testing.T) {
	g := newGraph()
	checkEnqueued := func(change string, got []types.UID, want string) {
		t.Helper()
		slices.Sort(got)
		got = slices.Compact(got)
		if uids := strings.Trim(fmt.Sprint(got), "[]"); uids != want {
			t.Errorf("%s: enqueued %q, want %q", change, uids, want)
		}
	}
	checkEnqueued("a dependent before its owner", g.upsert(toObject(newMetadata("a", "!owner", "other"))), "a")
	checkEnqueued("another dependent", g.upsert(toObject(newMetadata("b", "owner"))), "b")
	checkEnqueued("the owner", g.upsert(toObject(newMetadata("owner"))), "")
	checkEnqueued("unchanged dependent", g.upsert(toObject(newMetadata("a", "!owner", "other"))), "")
	checkEnqueued("the owner waits", g.upsert(toObject(deletingWith(newMetadata("owner"), metav1.FinalizerDeleteDependents))), "a b owner")
	checkEnqueued("a dependent no longer blocks", g.upsert(toObject(newMetadata("a", "owner", "other"))), "a owner")
	checkEnqueued("a dependent is deleted", g.remove("b"), "owner")
	checkEnqueued("the owner is deleted", g.remove("owner"), "a")
	checkEnqueued("an owner with orphan propagation", g.upsert(toObject(deletingWith(newMetadata("other"), metav1.FinalizerOrphanDependents))), "other")
	checkEnqueued("the last dependent is deleted", g.remove("a"), "")
	checkEnqueued("an absent object is deleted", g.remove("a"), "")
	if len(g.dependents) != 0 || len(g.objects) != 1 {
		t.Errorf("dependents %v and objects %v, want no dependents and one object", g.dependents, g.objects)
	}
}

func TestBlocks(t *testing.T) {
	o := toObject(newMetadata("a", "!x", "y"))
	if !o.blocks("x") || o.blocks("y") || o.blocks("z") {
		t.Errorf("blocks x: %t, y: %t, z: %t, want only x", o.blocks("x"), o.blocks("y"), o.blocks("z"))
	}
}
