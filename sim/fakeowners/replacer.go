package fakeowners

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// ReplaceAnnotation is the annotation of pods that are replaced, as by a ReplicaSet, when they
// are deleted or fail.
const ReplaceAnnotation = "sim.berth.dev/replace"

// UIDPrefix is the UID prefix of owners that have no object in the scenario. Their desired replicas
// are the number of their current pods.
const UIDPrefix = "owner/"

// References returns the owner references of a pod with a fake owner. An owner "!x" is a controller x that no other object
// mentions.
func References(owner string) []metav1.OwnerReference {
	if owner == "" {
		return nil
	}
	name, uid := owner, UIDPrefix+owner
	if missing, ok := strings.CutPrefix(owner, "!"); ok {
		name, uid = missing, "missing/"+missing
	}
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(uid), Controller: new(true)}}
}

// Replacer is the actor that replaces annotated pods. Create it with New.
type Replacer struct {
	w                *sim.World
	reflector        *sim.Reflector
	disabled         bool
	replaced         map[types.UID]bool     // pods that were handled, most of them by a replacement
	lastSeen         map[string]*corev1.Pod // by key, to detect deletions in a list
	replacements     map[string]int         // number of replacements by the key of the first pod
	victimDepth      map[types.UID]int      // length of the victim chain
	replacementDepth map[string]int         // by the name of the replacement

	retired map[string]bool   // by the key of the first pod: no more replacements
	latest  map[string]string // latest replacement by the key of the first pod

	desired map[string]map[string]bool // by fake owner UID and first pod's key
}

// New returns the actor, which tracks pods from now on. Start starts it.
func New(w *sim.World) *Replacer {
	o := &Replacer{w: w, replaced: map[types.UID]bool{}, lastSeen: map[string]*corev1.Pod{}, replacements: map[string]int{}, victimDepth: map[types.UID]int{}, replacementDepth: map[string]int{},
		retired: map[string]bool{}, latest: map[string]string{}, desired: map[string]map[string]bool{}}
	w.OnCommit(func(c store.Change) {
		if p, ok := c.Object().(*corev1.Pod); ok {
			o.trackDesired(p, c.New == nil)
		}
	})
	return o
}

// Start starts the watch of annotated pods.
func (o *Replacer) Start() {
	o.reflector = o.w.NewReflector("owners", o, store.Pods)
	o.reflector.Filter = func(c store.Change) bool { return c.Object().GetAnnotations()[ReplaceAnnotation] != "" }
	o.reflector.Start()
}

// Change implements sim.Actor.
func (o *Replacer) Change(c store.Change) {
	p, _ := c.Object().(*corev1.Pod)
	o.observePod(p, c.New == nil)
}

// Replace implements sim.Actor.
func (o *Replacer) Replace(_ store.Kind, list []store.Object) {
	listed := map[string]bool{}
	for _, obj := range list {
		if p, ok := obj.(*corev1.Pod); ok && p.Annotations[ReplaceAnnotation] != "" {
			listed[store.KeyOf(p)] = true
			o.observePod(p, false)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.lastSeen)) {
		if !listed[key] {
			o.observePod(o.lastSeen[key], true)
		}
	}
}

// Kill implements sim.Actor. The actor keeps the list of replaced pods.
func (o *Replacer) Kill(d time.Duration) {
	o.reflector.Stop()
	o.w.After(d, o.reflector.Start)
}

// observePod replaces a pod that was deleted or failed.
func (o *Replacer) observePod(p *corev1.Pod, deleted bool) {
	key := store.KeyOf(p)
	o.lastSeen[key] = p
	if deleted {
		delete(o.lastSeen, key)
	}
	needsReplacement := deleted || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed
	if !needsReplacement || o.disabled || o.replaced[p.UID] || p.Status.Phase == corev1.PodSucceeded {
		return
	}
	o.replaced[p.UID] = true
	first, _, _ := strings.Cut(key, "-r.")
	if o.retired[first] {
		return
	}
	o.replacements[first]++
	name, _, _ := strings.Cut(p.Name, "-r.")
	next := newReplacement(p, fmt.Sprintf("%s-r.%d", name, o.replacements[first]))
	if d, ok := o.victimDepth[p.UID]; ok {
		o.replacementDepth[next.Name] = d
	}
	o.latest[first] = store.KeyOf(next)
	if o.w.API().Create(next) == nil {
		o.w.Log("owner", "create", store.KeyOf(next), fmt.Sprintf("%s is created to replace %s", store.KeyOf(next), key))
	}
}

// newReplacement returns a pod from the same template.
func newReplacement(p *corev1.Pod, name string) *corev1.Pod {
	next := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: p.Labels, Annotations: p.Annotations, OwnerReferences: p.OwnerReferences},
		Spec:       *p.Spec.DeepCopy(),
	}
	next.Spec.NodeName = ""
	next.Status.Phase = corev1.PodPending
	return next
}

// Disable ends the replacement of pods.
func (o *Replacer) Disable() { o.disabled = true }

// Retire deletes a pod and its latest replacement, and ends their replacement.
func (o *Replacer) Retire(key string) {
	o.retired[key] = true
	for _, name := range []string{key, o.latest[key]} {
		if p := o.w.API().Pod(name); p != nil {
			_ = o.w.API().DeletePod(name, store.Precondition{}, nil)
		}
	}
}
