package recording

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// encoder appends values to buf. Specifications and labels are written once; later uses refer to them by number.
type encoder struct {
	buf    []byte
	specs  map[*model.PodSpec]uint64
	labels map[*model.Label]uint64 // by the first label
}

func newEncoder() *encoder {
	return &encoder{specs: map[*model.PodSpec]uint64{}, labels: map[*model.Label]uint64{}}
}

// encodeFunc appends a value.
type encodeFunc func(e *encoder, v reflect.Value)

// encodeFuncs and identityFuncs cache the encodeFunc of each type. Those of identityFuncs append only the identity of
// objects.
var encodeFuncs, identityFuncs sync.Map

// encode appends a value. With byIdentity, it appends only the identity of objects.
func (e *encoder) encode(v reflect.Value, byIdentity bool) { encoderOf(v.Type(), byIdentity)(e, v) }

func encoderOf(t reflect.Type, byIdentity bool) encodeFunc {
	cache := &encodeFuncs
	if byIdentity {
		cache = &identityFuncs
	}
	if f, ok := cache.Load(t); ok {
		return f.(encodeFunc)
	}
	f := newEncodeFunc(t, byIdentity)
	cache.Store(t, f)
	return f
}

func newEncodeFunc(t reflect.Type, byIdentity bool) encodeFunc {
	switch t {
	case timeType:
		return func(e *encoder, v reflect.Value) { e.time(v.Interface().(time.Time)) }
	case specType:
		return func(e *encoder, v reflect.Value) { e.spec(v.Interface().(*model.PodSpec)) }
	case labelsType:
		return func(e *encoder, v reflect.Value) { e.sharedLabels(v.Interface().(model.Labels)) }
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(e *encoder, v reflect.Value) { e.bool(v.Bool()) }
	case reflect.String:
		return func(e *encoder, v reflect.Value) { e.string(v.String()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(e *encoder, v reflect.Value) { e.int(v.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(e *encoder, v reflect.Value) { e.uint(v.Uint()) }
	case reflect.Float64:
		return func(e *encoder, v reflect.Value) { e.uint(math.Float64bits(v.Float())) }
	case reflect.Struct:
		return structEncoder(t, byIdentity)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return elementEncoder(t, byIdentity)
	}
	panic(fmt.Sprintf("recording: unsupported type %v", t))
}

func structEncoder(t reflect.Type, byIdentity bool) encodeFunc {
	fields := make([]encodeFunc, t.NumField())
	for i := range fields {
		fields[i] = encoderOf(t.Field(i).Type, byIdentity)
	}
	return func(e *encoder, v reflect.Value) {
		for i, f := range fields {
			f(e, v.Field(i))
		}
	}
}

func elementEncoder(t reflect.Type, byIdentity bool) encodeFunc {
	if names := identities[t]; byIdentity && names != nil {
		var fields [][]int
		for _, name := range names {
			field, _ := t.Elem().FieldByName(name)
			fields = append(fields, field.Index)
		}
		return func(e *encoder, v reflect.Value) {
			if e.bool(!v.IsNil()); v.IsNil() {
				return
			}
			for _, index := range fields {
				e.string(v.Elem().FieldByIndex(index).String())
			}
		}
	}
	element := encoderOf(t.Elem(), byIdentity)
	switch t.Kind() {
	case reflect.Pointer:
		return func(e *encoder, v reflect.Value) {
			if e.bool(!v.IsNil()); !v.IsNil() {
				element(e, v.Elem())
			}
		}
	case reflect.Slice:
		return func(e *encoder, v reflect.Value) {
			if v.IsNil() {
				e.uint(0)
				return
			}
			e.uint(uint64(v.Len()) + 1)
			for i := range v.Len() {
				element(e, v.Index(i))
			}
		}
	}
	return func(e *encoder, v reflect.Value) {
		for i := range v.Len() {
			element(e, v.Index(i))
		}
	}
}

func (e *encoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) int(n int64)   { e.buf = binary.AppendVarint(e.buf, n) }
func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) bool(b bool) {
	if b {
		e.buf = append(e.buf, 1)
		return
	}
	e.buf = append(e.buf, 0)
}

// time appends a time without its zone.
func (e *encoder) time(t time.Time) {
	if e.bool(!t.IsZero()); !t.IsZero() {
		e.int(t.Unix())
		e.uint(uint64(t.Nanosecond()))
	}
}

// spec appends 0 for nil, the number of an earlier specification, or the next number and the specification.
func (e *encoder) spec(s *model.PodSpec) {
	if s == nil {
		e.uint(0)
		return
	}
	n, found := e.specs[s]
	if !found {
		n = uint64(len(e.specs)) + 1
		e.specs[s] = n
	}
	if e.uint(n); !found {
		encoderOf(specType.Elem(), false)(e, reflect.ValueOf(s).Elem())
	}
}

// sharedLabels appends labels as spec does. 0 means none.
func (e *encoder) sharedLabels(l model.Labels) {
	if len(l) == 0 {
		e.uint(0)
		return
	}
	n, found := e.labels[&l[0]]
	if !found {
		n = uint64(len(e.labels)) + 1
		e.labels[&l[0]] = n
	}
	if e.uint(n); found {
		return
	}
	e.uint(uint64(len(l)))
	for i := range l {
		e.string(l[i].Key)
		e.string(l[i].Value)
	}
}

// Tags of events. An object that was created or updated has the tag of its type.
const (
	removeTag byte = iota + 1
	outcomeTag
	objectTag // plus the index in objectTypes
)

var objectTags = tagsOf(objectTypes, int(objectTag))
var effectTags = tagsOf(effectTypes, 0)

func tagsOf(types []reflect.Type, first int) map[reflect.Type]byte {
	out := map[reflect.Type]byte{}
	for i, t := range types {
		out[t] = byte(first + i)
	}
	return out
}

func (e *encoder) event(event scheduling.Event) {
	switch event := event.(type) {
	case scheduling.Remove:
		e.buf = append(e.buf, removeTag)
		e.object(removedIdentity(event.Object))
	case scheduling.Outcome:
		e.buf = append(e.buf, outcomeTag)
		e.encode(reflect.ValueOf(event), false)
	default:
		e.object(event)
	}
}

func (e *encoder) object(o any) {
	v := reflect.ValueOf(o).Elem()
	tag, ok := objectTags[v.Type()]
	if !ok {
		panic(fmt.Sprintf("recording: unsupported object %T", o))
	}
	e.buf = append(e.buf, tag)
	e.encode(v, false)
}

// removedIdentity returns what the machine reads of a removed object. Pods and nodes are removed often, and the
// machine reads only their identity.
func removedIdentity(o any) any {
	switch o := o.(type) {
	case *model.Pod:
		return &model.Pod{Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	case *model.Node:
		return &model.Node{Name: o.Name}
	}
	return o
}

func (e *encoder) effect(effect scheduling.Effect) {
	v := reflect.ValueOf(effect)
	tag, ok := effectTags[v.Type()]
	if !ok {
		panic(fmt.Sprintf("recording: unsupported effect %T", effect))
	}
	e.buf = append(e.buf, tag)
	e.encode(v, true)
}
