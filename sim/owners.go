package sim

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim/store"
)

// Replace is the annotation of pods for which a replacement is made as soon as they
// leave without having succeeded, as a ReplicaSet does.
const Replace = "sim.berth.dev/replace"

// StandIn is what the uids of owners begin with that scenarios only name: there is no such
// object, and they want as many pods as they have, or are to have in place of others.
const StandIn = "owner/"

// owners is the actor that replaces pods.
type owners struct {
	w     *World
	r     *reader
	off   bool
	done  map[types.UID]bool
	seen  map[string]*corev1.Pod // by key, to notice what a list has not
	count map[string]int         // replacements by the first pod's key
	chain map[types.UID]int      // how deep a victim was
	depth map[string]int         // by the name of a victim's replacement

	retired map[string]bool   // by the first pod's key: nobody is to follow
	latest  map[string]string // replacement by the first pod's key

	wants map[string]map[string]labels.Set // by the uid of a stand-in: the labels of its pods, by the first pods' keys
}

func newOwners(w *World) *owners {
	o := &owners{w: w, done: map[types.UID]bool{}, seen: map[string]*corev1.Pod{}, count: map[string]int{}, chain: map[types.UID]int{}, depth: map[string]int{},
		retired: map[string]bool{}, latest: map[string]string{}, wants: map[string]map[string]labels.Set{}}
	o.r = w.newReader("owners", store.Pods)
	o.r.wants = func(c store.Change) bool { return c.Object().GetAnnotations()[Replace] != "" }
	o.r.see = func(c store.Change) {
		p, _ := c.Object().(*corev1.Pod)
		o.look(p, c.New == nil)
	}
	o.r.replace = func(_ store.Kind, list []store.Object) {
		there := map[string]bool{}
		for _, obj := range list {
			if p, ok := obj.(*corev1.Pod); ok && p.Annotations[Replace] != "" {
				there[keyOf(p)] = true
				o.look(p, false)
			}
		}
		for _, key := range sortedKeys(o.seen) {
			if !there[key] {
				o.look(o.seen[key], true)
			}
		}
	}
	o.r.begin()
	return o
}

// want keeps up how many pods the stand-ins want.
func (o *owners) want(p *corev1.Pod, gone bool) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || !strings.HasPrefix(string(c.UID), StandIn) {
		return
	}
	first, _, _ := strings.Cut(keyOf(p), "-r.")
	all := o.wants[string(c.UID)]
	switch {
	case gone && (p.Annotations[Replace] == "" || o.off || o.retired[first]), p.Status.Phase == corev1.PodSucceeded:
		delete(all, first)
	case all == nil:
		o.wants[string(c.UID)] = map[string]labels.Set{first: p.Labels}
	default:
		all[first] = p.Labels
	}
}

// wanted is how many pods a stand-in wants that a selector selects.
func (o *owners) wanted(uid string, s labels.Selector) (n int32) {
	for _, l := range o.wants[uid] {
		if s.Matches(l) {
			n++
		}
	}
	return n
}

// victim remembers how long the chain is that ends with a pod.
func (o *owners) victim(p *corev1.Pod, depth int) { o.chain[p.UID] = depth }

// look replaces a pod that leaves.
func (o *owners) look(p *corev1.Pod, gone bool) {
	key := keyOf(p)
	o.seen[key] = p
	if gone {
		delete(o.seen, key)
	}
	leaves := gone || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed
	if !leaves || o.off || o.done[p.UID] || p.Status.Phase == corev1.PodSucceeded {
		return
	}
	o.done[p.UID] = true
	first, _, _ := strings.Cut(key, "-r.")
	if o.retired[first] {
		return
	}
	o.count[first]++
	name, _, _ := strings.Cut(p.Name, "-r.")
	next := fresh(p, fmt.Sprintf("%s-r.%d", name, o.count[first]))
	if d, ok := o.chain[p.UID]; ok {
		o.depth[next.Name] = d
	}
	o.latest[first] = keyOf(next)
	if o.w.api.Create(next) == nil {
		o.w.tell("owner", "create", keyOf(next), fmt.Sprintf("%s is made in place of %s", keyOf(next), key))
	}
}

// fresh is a pod made of the same template.
func fresh(p *corev1.Pod, name string) *corev1.Pod {
	next := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: p.Labels, Annotations: p.Annotations, OwnerReferences: p.OwnerReferences},
		Spec:       *p.Spec.DeepCopy(),
	}
	next.Spec.NodeName = ""
	next.Status.Phase = corev1.PodPending
	return next
}

// Retire deletes a pod and, whatever their names, those made in its place.
func (w *World) Retire(key string) {
	w.owners.retired[key] = true
	for _, name := range []string{key, w.owners.latest[key]} {
		if p := w.api.Pod(name); p != nil {
			_ = w.api.DeletePod(name, store.Precondition{}, nil)
		}
	}
}
