package recording

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// State is what the scheduler had observed at a time: the objects, and its last decision about each pending pod.
type State struct {
	// At is the time of the last step.
	At time.Time
	// Options are the options of the machine. See Header.
	Options   json.RawMessage
	objects   map[objectKey]any
	observed  map[objectKey][]byte // encoded observations
	reports   int                  // size of the NodePressure observations in bytes
	decisions map[string]Decision  // by UID of the pod
}

// Decision is an effect with the time of its step.
type Decision struct {
	At     time.Time
	Effect scheduling.Effect
}

// objectKey identifies an object: by UID for a pod, else by namespace and name.
type objectKey struct {
	tag             byte
	namespace, name string
}

func newState() *State {
	return &State{objects: map[objectKey]any{}, observed: map[objectKey][]byte{}, decisions: map[string]Decision{}}
}

// Pods returns the pods, sorted by namespace, name and UID. They must not be modified.
func (s *State) Pods() []*model.Pod {
	return sortedObjects(s, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}

// Nodes returns the nodes, sorted by name. They must not be modified.
func (s *State) Nodes() []*model.Node {
	return sortedObjects(s, func(a, b *model.Node) int { return cmp.Compare(a.Name, b.Name) })
}

// Budgets returns the disruption budgets, sorted by namespace and name. They must not be modified.
func (s *State) Budgets() []*model.Budget {
	return sortedObjects(s, func(a, b *model.Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func sortedObjects[T any](s *State, compare func(a, b *T) int) []*T {
	var out []*T
	for _, o := range s.objects {
		if o, ok := o.(*T); ok {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, compare)
	return out
}

// Objects returns all objects as events, sorted by kind, namespace and name (pods: UID).
func (s *State) Objects() []scheduling.Event {
	out := make([]scheduling.Event, 0, len(s.objects))
	for _, k := range sortedKeys(s.objects) {
		out = append(out, s.objects[k])
	}
	return out
}

// LastDecision returns the last decision about a pending pod: a Bind, ReportUnschedulable, ReportGated or Preempt.
func (s *State) LastDecision(uid string) (Decision, bool) {
	d, ok := s.decisions[uid]
	return d, ok
}

func sortedKeys[T any](objects map[objectKey]T) []objectKey {
	return slices.SortedFunc(maps.Keys(objects), func(a, b objectKey) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// applyStep applies the events and effects of a step.
func (s *State) applyStep(now time.Time, events []scheduling.Event, effects []scheduling.Effect) {
	for _, e := range events {
		s.applyEvent(e)
	}
	for _, e := range effects {
		s.applyEffect(now, e)
	}
}

func (s *State) applyEvent(event scheduling.Event) {
	switch event := event.(type) {
	case scheduling.Outcome:
	case scheduling.Remove:
		k, ok := keyOf(event.Object)
		s.forgetObservations(s.objects[k])
		if delete(s.objects, k); ok && k.tag == podTag {
			delete(s.decisions, k.name)
		}
	default:
		if k, ok := keyOf(event); ok {
			s.objects[k] = event
			if p, ok := event.(*model.Pod); ok && p.NodeName != "" {
				delete(s.decisions, p.UID)
			}
		}
	}
}

func (s *State) applyEffect(now time.Time, effect scheduling.Effect) {
	if p := decidedPod(effect); p != nil {
		s.applyDecision(p.UID, Decision{now, effect})
	}
}

// applyDecision stores a decision about a pod that is pending.
func (s *State) applyDecision(uid string, d Decision) {
	if p, ok := s.objects[objectKey{tag: podTag, name: uid}].(*model.Pod); ok && p.NodeName == "" {
		s.decisions[uid] = d
	}
}

// decidedPod returns the pod of an effect that is a decision, else nil.
func decidedPod(effect scheduling.Effect) *model.Pod {
	switch e := effect.(type) {
	case scheduling.Bind:
		return e.Pod
	case scheduling.ReportUnschedulable:
		return e.Pod
	case scheduling.ReportGated:
		return e.Pod
	case scheduling.Preempt:
		return e.Pod
	}
	return nil
}

var podTag = objectTags[reflect.TypeFor[model.Pod]()]

// keyOf returns the key of an object. A NodeEviction is an event and has none.
func keyOf(object any) (k objectKey, ok bool) {
	ok = true
	switch o := object.(type) {
	case *model.Pod:
		k = objectKey{podTag, "", o.UID}
	case *model.Node:
		k = key[model.Node]("", o.Name)
	case *model.Namespace:
		k = key[model.Namespace]("", o.Name)
	case *model.SpreadGroup:
		k = key[model.SpreadGroup](o.Namespace, o.Kind+"/"+o.Name)
	case *model.Budget:
		k = key[model.Budget](o.Namespace, o.Name)
	case *model.PriorityClass:
		k = key[model.PriorityClass]("", o.Name)
	case *model.ResourceClaim:
		k = key[model.ResourceClaim](o.Namespace, o.Name)
	case *model.Hold:
		k = key[model.Hold](o.Namespace, o.Name)
	default:
		return volumeKeyOf(object)
	}
	return k, ok
}

func volumeKeyOf(object any) (k objectKey, ok bool) {
	ok = true
	switch o := object.(type) {
	case *model.PersistentVolume:
		k = key[model.PersistentVolume]("", o.Name)
	case *model.PersistentVolumeClaim:
		k = key[model.PersistentVolumeClaim](o.Namespace, o.Name)
	case *model.StorageClass:
		k = key[model.StorageClass]("", o.Name)
	case *model.CSINode:
		k = key[model.CSINode]("", o.Name)
	case *model.CSIDriver:
		k = key[model.CSIDriver]("", o.Name)
	case *model.CSIStorageCapacity:
		k = key[model.CSIStorageCapacity](o.Namespace, o.Name)
	case *model.VolumeAttachment:
		k = key[model.VolumeAttachment]("", o.Name)
	default:
		ok = false
	}
	return k, ok
}

func key[T any](namespace, name string) objectKey {
	return objectKey{objectTags[reflect.TypeFor[T]()], namespace, name}
}
