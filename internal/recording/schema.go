package recording

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// objectTypes are the types of objects in events and of observations, by tag.
var objectTypes = []reflect.Type{
	reflect.TypeFor[model.Pod](), reflect.TypeFor[model.Node](), reflect.TypeFor[model.NodeEviction](), reflect.TypeFor[model.Namespace](), reflect.TypeFor[model.SpreadGroup](),
	reflect.TypeFor[model.Budget](), reflect.TypeFor[model.PriorityClass](), reflect.TypeFor[model.ResourceClaim](), reflect.TypeFor[model.Hold](),
	reflect.TypeFor[model.PersistentVolume](), reflect.TypeFor[model.PersistentVolumeClaim](), reflect.TypeFor[model.StorageClass](), reflect.TypeFor[model.CSINode](),
	reflect.TypeFor[model.CSIDriver](), reflect.TypeFor[model.CSIStorageCapacity](), reflect.TypeFor[model.VolumeAttachment](),
	reflect.TypeFor[PodDetails](), reflect.TypeFor[NodeStatus](), reflect.TypeFor[NodePressure](), reflect.TypeFor[HoldSupport](),
}

// effectTypes are the types of effects, by tag.
var effectTypes = []reflect.Type{
	reflect.TypeFor[scheduling.Bind](), reflect.TypeFor[scheduling.ReportUnschedulable](), reflect.TypeFor[scheduling.ReportGated](), reflect.TypeFor[scheduling.RefreshPod](),
	reflect.TypeFor[scheduling.Preempt](), reflect.TypeFor[scheduling.ClearNomination](), reflect.TypeFor[scheduling.BindVolumes](), reflect.TypeFor[scheduling.CallExtenders](),
	reflect.TypeFor[scheduling.CallPreemptionExtenders](), reflect.TypeFor[scheduling.MissedWakeup](), reflect.TypeFor[scheduling.ReportBound](),
	reflect.TypeFor[scheduling.ReportDeferredResize](),
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	specType    = reflect.TypeFor[*model.PodSpec]()
	labelsType  = reflect.TypeFor[model.Labels]()
	outcomeType = reflect.TypeFor[scheduling.Outcome]()
)

// identities lists the fields that identify an object in effects, by type.
var identities = map[reflect.Type][]string{
	reflect.TypeFor[*model.Pod]():                   {"Namespace", "Name", "UID", "ResourceVersion"},
	reflect.TypeFor[*model.Budget]():                {"Namespace", "Name", "UID", "ResourceVersion"},
	reflect.TypeFor[*model.PersistentVolume]():      {"Name", "ResourceVersion"},
	reflect.TypeFor[*model.PersistentVolumeClaim](): {"Namespace", "Name", "UID", "ResourceVersion"},
}

// Schema identifies the fields of all types in a recording. A recording of another schema cannot be read.
var Schema = schema()

func schema() string {
	h, seen := fnv.New64a(), map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		if seen[t] || t == timeType {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(t.Elem())
		case reflect.Struct:
			fmt.Fprintln(h, t)
			for i := range t.NumField() {
				fmt.Fprintln(h, t.Field(i).Name, t.Field(i).Type, t.Field(i).Type.Kind())
				walk(t.Field(i).Type)
			}
		}
	}
	for _, t := range objectTypes {
		walk(t)
	}
	for _, t := range effectTypes {
		walk(t)
	}
	walk(outcomeType)
	return fmt.Sprintf("%016x", h.Sum64())
}
