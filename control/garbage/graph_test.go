package garbage

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

// thing is the metadata of a ConfigMap; owners are given by name, "!" before one that it blocks.
func thing(name string, owners ...string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	m.Name, m.Namespace, m.UID, m.ResourceVersion = name, "ns", types.UID(name), "1"
	for _, o := range owners {
		blocks := strings.HasPrefix(o, "!")
		o = strings.TrimPrefix(o, "!")
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o, UID: types.UID(o), BlockOwnerDeletion: &blocks})
	}
	return m
}

// going is a thing that is being deleted and waits for a finalizer.
func going(m *metav1.PartialObjectMetadata, finalizer string) *metav1.PartialObjectMetadata {
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	m.Finalizers = append(m.Finalizers, finalizer)
	return m
}

var configMaps = kind{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, schema.GroupKind{Kind: "ConfigMap"}, true}

func node(m *metav1.PartialObjectMetadata) *object {
	return compile(configMaps.GroupVersionResource, configMaps.kind, m)
}

func TestGraphTellsWhomToLookAt(t *testing.T) {
	g := newGraph()
	look := func(what string, got []types.UID, want string) {
		t.Helper()
		slices.Sort(got)
		got = slices.Compact(got)
		if g := strings.Trim(fmt.Sprint(got), "[]"); g != want {
			t.Errorf("%s: look at %q, want %q", what, g, want)
		}
	}
	look("a dependent before its owner", g.upsert(node(thing("a", "!owner", "other"))), "a")
	look("another", g.upsert(node(thing("b", "owner"))), "b")
	look("the owner", g.upsert(node(thing("owner"))), "")
	look("nothing new", g.upsert(node(thing("a", "!owner", "other"))), "")
	look("the owner waits", g.upsert(node(going(thing("owner"), metav1.FinalizerDeleteDependents))), "a b owner")
	look("a dependent blocks no more", g.upsert(node(thing("a", "owner", "other"))), "a owner")
	look("a dependent goes", g.remove("b"), "owner")
	look("the owner goes", g.remove("owner"), "a")
	look("an owner that is to let go", g.upsert(node(going(thing("other"), metav1.FinalizerOrphanDependents))), "other")
	look("the last dependent goes", g.remove("a"), "")
	look("what is not there goes", g.remove("a"), "")
	if len(g.dependents) != 0 || len(g.objects) != 1 {
		t.Errorf("left over: %v %v", g.dependents, g.objects)
	}
}

func TestBlocks(t *testing.T) {
	o := node(thing("a", "!x", "y"))
	if !o.blocks("x") || o.blocks("y") || o.blocks("z") {
		t.Error("it blocks x, and nothing else")
	}
}
